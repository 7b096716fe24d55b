"""What a search is, without the library that runs it: its limits, its outcomes, its winner. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from learning.task import Candidate, FeatureSet, StudyPlan
from schemas.run import Budget

STUDY_SHARE = 0.7
"""Of a run's budget; the rest is for the final fit, the export and the evaluation."""

MIN_SEARCH_S = 15.0
"""A study that began late still gets this much."""


@dataclass(frozen=True)
class TrialOutcome:
    """How far a trial came and how it did there; accuracy and loss are of samples it was not trained on."""

    number: int
    candidate: Candidate
    epoch: int
    accuracy: float
    loss: float
    temperature: float
    threshold: float

    @property
    def is_finite(self) -> bool:
        """Whether the training did not run away."""
        return math.isfinite(self.accuracy) and math.isfinite(self.loss)


OnTrial = Callable[[TrialOutcome, int], None]
"""Called for each trial that ended by itself or was stopped early, with the number of trials ended so far."""


class TrialSearch(Protocol):
    """Tries candidates in parallel and stops the hopeless ones early."""

    def warm_up(self, sample_count: int) -> None:
        """Begin, in the background, what `run` needs before its first trial. Never raises."""

    def run(
        self, plan: StudyPlan, train: FeatureSet, validation: FeatureSet, limit_s: float, on_trial: OnTrial
    ) -> list[TrialOutcome]:
        """Every trial that reported anything; a failing trial is left out and the others go on.

        After `limit_s` no trial goes on, provided that one has come to its last epoch.
        """

    def close(self) -> None:
        """Release what `warm_up` or `run` holds."""


def search_limit(budget: Budget, now: datetime) -> float:
    """Seconds left for trying candidates, so that the later stages keep their share before the deadline."""
    ends = budget.deadline - timedelta(seconds=budget.seconds * (1 - STUDY_SHARE))
    return max(MIN_SEARCH_S, (ends - now).total_seconds())


def choose_winner(outcomes: Sequence[TrialOutcome]) -> TrialOutcome | None:
    """Best accuracy, then lowest loss, then first tried, among those that came furthest; None when none is usable.

    A trial that was stopped early is judged only against its like: the model is trained to the last epoch,
    and scores of different epochs do not compare.
    """
    usable = [outcome for outcome in outcomes if outcome.is_finite]
    if not usable:
        return None
    furthest = max(outcome.epoch for outcome in usable)
    finalists = [outcome for outcome in usable if outcome.epoch == furthest]
    return min(finalists, key=lambda outcome: (-outcome.accuracy, outcome.loss, outcome.number))
