"""Which documents a Filter picks: the part of MongoDB's query language that the port allows."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from chassis.documents.ports import Document, Filter

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$lt": operator.lt,
    "$lte": operator.le,
    "$gt": operator.gt,
    "$gte": operator.ge,
}


def matches(document: Document, where: Filter) -> bool:
    """Raises ValueError for an operator outside the port."""
    return all(_field_matches(value_at(document, field), wanted) for field, wanted in where.items())


def value_at(document: Document, field: str) -> Any:
    """The value under a dotted name; None when it is absent, as servers treat it."""
    value: Any = document
    for part in field.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _field_matches(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted):
        return all(_operator_matches(value, name, operand) for name, operand in wanted.items())
    return _equals(value, wanted)


def _operator_matches(value: Any, name: str, operand: Any) -> bool:
    if name == "$in":
        return any(_equals(value, one) for one in operand)
    if name not in _COMPARISONS:
        raise ValueError(f"filter operator {name} is not part of the port; use equality, $in or a range")
    try:
        return value is not None and _COMPARISONS[name](value, operand)
    except TypeError:  # servers compare within one type only: another type never matches
        return False


def _equals(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or (isinstance(value, list) and wanted in value)
