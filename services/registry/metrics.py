"""The registry's own metrics."""

from prometheus_client import Counter

ILLEGAL_TRANSITIONS = Counter(
    "easyloop_run_transitions_ignored",
    "Events that asked a run for a state its own does not lead to",
    ["state", "asked"],
)
