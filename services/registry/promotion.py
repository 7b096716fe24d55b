"""Which version answers callers: a pure decision."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """Whether the alias moves, and the reason in words."""

    promote: bool
    reason: str


def decide(
    metric: str, candidate: Mapping[str, float], baseline: Mapping[str, float] | None, incumbent: int | None
) -> Decision:
    """The first version is published by itself; a later one when it is at least as good on the same test samples.

    `baseline` is the score of version `incumbent` on those samples; None where it could not be rescored.
    """
    if incumbent is None:
        return Decision(True, "first version of the model")
    if baseline is None or metric not in baseline:
        return Decision(
            False, f"version {incumbent} could not be rescored on the same samples; publish by hand if you wish"
        )
    gain = candidate[metric] - baseline[metric]
    compared = (
        f"{metric} {candidate[metric]:.4f} against {baseline[metric]:.4f} of version {incumbent} on the same samples"
    )
    return Decision(gain >= 0, compared)
