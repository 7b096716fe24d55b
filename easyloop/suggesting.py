"""What someone may have meant who named something that is not there."""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from easyloop.client import Client
from easyloop.errors import EasyLoopError

# Ids made one after the other are alike by nature: only a slip of the pen is nearer than this.
ALIKE_IDS, ALIKE_NAMES = 0.85, 0.6

LISTS: Mapping[str, tuple[tuple[str, ...], Callable[[Client], dict[str, str]]]] = {
    "dataset_unknown": (("dataset_id", "dataset"), lambda client: {one.id: one.name for one in client.datasets()}),
    "model_unknown": (("model_id",), lambda client: {one.id: one.name for one in client.models()}),
    "run_unknown": (("run_id", "run"), lambda client: {one.id: "" for one in client.runs()}),
    "dead_letter_unknown": (("failure_id",), lambda client: {one.id: "" for one in client.dead_letters()}),
}
"""Code of an error -> the parameters of commands that may be to blame, and what there is: id -> name."""


def suggestion(client: Client, error: EasyLoopError, parameters: Mapping[str, Any]) -> str:
    """A question to put behind the error's sentence; empty where nothing is near."""
    if error.code not in LISTS:
        return ""
    names, list_known = LISTS[error.code]
    wrong = next((str(parameters[name]) for name in names if parameters.get(name)), None)
    if wrong is None:
        return ""
    try:
        found = nearest(wrong, list_known(client))
    except EasyLoopError:  # the error itself is what matters
        return ""
    return f" Did you mean {found}?" if found else ""


def nearest(wrong: str, known: Mapping[str, str]) -> str:
    """The id that was meant, by a slip in it or by the name that belongs to it; empty where nothing is near."""
    by_name = {name.casefold(): identifier for identifier, name in known.items() if name}
    alike = difflib.get_close_matches(wrong.casefold(), by_name, 1, ALIKE_NAMES)
    if alike:
        return f"{by_name[alike[0]]} ({known[by_name[alike[0]]]})"
    upper = {identifier.upper(): identifier for identifier in known}
    alike = difflib.get_close_matches(wrong.upper(), upper, 1, ALIKE_IDS)
    if not alike:
        return ""
    name = known[upper[alike[0]]]
    return f"{upper[alike[0]]} ({name})" if name else upper[alike[0]]
