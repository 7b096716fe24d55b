"""Identifiers: a prefix that says what it names, and a ULID (sortable by time of making)."""

from typing import Protocol

from ulid import ULID


class Ids(Protocol):
    """Makes identifiers; injected so that tests know them."""

    def new(self, prefix: str) -> str:
        """Unique for ever, e.g. `run_01J...`."""


class UlidIds:
    """The production identifiers."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{ULID()}"


class FakeIds:
    """`run_1`, `run_2`, ... per prefix, zero-padded so that they sort by time of making as ULIDs do."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def new(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}_{self._counts[prefix]:06d}"
