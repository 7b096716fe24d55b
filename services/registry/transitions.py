"""The states of a run: one table. What is not in it does not happen."""

from collections.abc import Mapping

from schemas.run import RunState

ENDED: frozenset[RunState] = frozenset({"succeeded", "failed", "cancelled"})

_NEXT: Mapping[RunState, frozenset[RunState]] = {
    "requested": frozenset({"waiting_data", "searching", "failed", "cancelled"}),
    "waiting_data": frozenset({"searching", "failed", "cancelled"}),
    "searching": frozenset({"training", "failed", "cancelled"}),
    "training": frozenset({"evaluating", "failed", "cancelled"}),
    "evaluating": frozenset({"registering", "failed", "cancelled"}),
    "registering": frozenset({"succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}


def allowed(state: RunState, following: RunState) -> bool:
    """Whether a run may go from one state to the other."""
    return following in _NEXT[state]
