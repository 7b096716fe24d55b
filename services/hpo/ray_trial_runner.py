"""One trial, inside a Ray actor. Imported by Ray's worker processes."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ray import tune

from learning.study import Candidate
from learning.task import FeatureSet, TrialReport

NUMBER = "number"
"""The one parameter that Tune varies: which of the candidates a trial tries."""

NICENESS = 10
"""Trials give way to what answers people."""


@dataclass(frozen=True)
class TrialWork:
    """What all trials of a stage share; `threads` is how many cores one has."""

    task: str = ""
    epochs: int = 0
    seed: int = 0
    threads: int = 1
    candidates: Mapping[int, Candidate] = field(default_factory=dict)


class CandidateTrial(tune.Trainable):  # type: ignore[misc]  # Ray's classes are untyped here
    """A step is an epoch. A class rather than a function, because Ray runs functions in a thread, and the
    first import of Paddle in a thread that is not the main one spoils it for all others.
    """

    def setup(self, config: dict[str, Any], work: TrialWork | None = None, features: FeatureSet | None = None) -> None:
        """See tune.Trainable. Everything but `config` is the same for all trials of a stage."""
        if work is None or features is None:
            raise ValueError("a trial was made without its features; give them by tune.with_parameters")
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        os.environ["OMP_NUM_THREADS"] = str(work.threads)
        os.environ["MKL_DEBUG_CPU_TYPE"] = "5"  # else Paddle's MKL takes a slow path on AMD
        from learning.registry import get_task  # Paddle comes after its environment

        self._plugin = get_task(work.task)
        self._work, self._features = work, features
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """See tune.Trainable: this actor goes on with another candidate."""
        candidate = dict(self._work.candidates[new_config[NUMBER]])
        self._reports: Iterator[TrialReport] = self._plugin.train_trial(
            candidate, self._work.epochs, self._work.seed, self._features
        )
        return True

    def step(self) -> dict[str, Any]:
        """See tune.Trainable. The last epoch says that the trial is done."""
        report = next(self._reports)
        return {**report.to_json(), "done": report.epoch >= self._work.epochs}
