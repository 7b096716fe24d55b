"""Candidates tried one after the other in this very process: for a stage where there is nothing to choose from.

Starting Ray's workers takes longer than training one head. Paddle is imported by the first trial, so `run` must be
called in the main thread.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from learning.errors import LearningError
from learning.study import Candidate, TrialOutcome
from learning.task import FeatureSet, TaskPlugin, TrialReport
from services.hpo.search import OnTrial, StageOrder

log = logging.getLogger(__name__)


@dataclass
class PlainSearch:
    """A TrialSearch without a library."""

    plugin_of: Callable[[str], TaskPlugin]

    def warm_up(self, sample_count: int) -> None:
        """See TrialSearch. There is nothing to begin."""

    def run(self, order: StageOrder, features: FeatureSet, on_trial: OnTrial) -> list[TrialOutcome]:
        """See TrialSearch."""
        ends = time.monotonic() + order.limit_s
        outcomes: list[TrialOutcome] = []
        for number, candidate in order.candidates.items():
            try:
                last = self._last_report(order, candidate, features, ends)
            except LearningError as error:
                log.warning("trial %d (%s) failed: %s", number, candidate, error)
                continue
            outcomes.append(TrialOutcome.of(number, candidate, last.to_json()))
            on_trial(outcomes[-1], len(outcomes))
        return outcomes

    def close(self) -> None:
        """See TrialSearch. It holds nothing."""

    def _last_report(self, order: StageOrder, candidate: Candidate, features: FeatureSet, ends: float) -> TrialReport:
        """Of the last epoch, or of the one at which time was over."""
        reports = self.plugin_of(order.task).train_trial(candidate, order.stage.epochs, order.seed, features)
        last = next(reports)
        while (order.needs_finalist or time.monotonic() <= ends) and (report := next(reports, None)) is not None:
            last = report
        return last
