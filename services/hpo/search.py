"""What a search is, without the library that runs it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from learning.study import Candidate, Stage, TrialOutcome
from learning.task import FeatureSet
from schemas.run import Budget

STUDY_SHARE = 0.7
"""Of a run's budget; the rest is for the final fit, the export and the evaluation."""

MIN_SEARCH_S = 15.0
"""A study that began late still gets this much."""


@dataclass(frozen=True)
class StageOrder:
    """What of a stage is still to be tried: candidates by their number. needs_finalist: whether the study has none yet
    that came to its last epoch.
    """

    task: str
    stage: Stage
    candidates: Mapping[int, Candidate]
    seed: int
    limit_s: float
    needs_finalist: bool


OnTrial = Callable[[TrialOutcome, int], None]
"""Called for each trial that ended by itself or was stopped early, with the number of trials ended so far."""


class TrialSearch(Protocol):
    """Tries candidates in parallel and stops the hopeless ones early."""

    def warm_up(self, sample_count: int) -> None:
        """Begin, in the background, what `run` needs before its first trial. Never raises."""

    def run(self, order: StageOrder, features: FeatureSet, on_trial: OnTrial) -> list[TrialOutcome]:
        """Every trial that reported anything; a failing trial is left out and the others go on.

        After `limit_s` no trial goes on, provided that the study has one that came to its last epoch.
        """

    def close(self) -> None:
        """Release what `warm_up` or `run` holds."""


def search_limit(budget: Budget, now: datetime) -> float:
    """Seconds left for trying candidates, so that the later stages keep their share before the deadline."""
    ends = budget.deadline - timedelta(seconds=budget.seconds * (1 - STUDY_SHARE))
    return max(MIN_SEARCH_S, (ends - now).total_seconds())
