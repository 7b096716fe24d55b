"""One trial, inside a Ray actor. Imported by Ray's worker processes."""

import os
from collections.abc import Iterator
from typing import Any

from ray import tune

from learning.task import FeatureSet, TrialReport


class CandidateTrial(tune.Trainable):  # type: ignore[misc]  # Ray's classes are untyped here
    """A step is an epoch. A class rather than a function, because Ray runs functions in a thread, and the
    first import of Paddle in a thread that is not the main one spoils it for all others.
    """

    def setup(
        self,
        config: dict[str, Any],
        task: str = "",
        epochs: int = 0,
        seed: int = 0,
        train: FeatureSet | None = None,
        validation: FeatureSet | None = None,
    ) -> None:
        """See tune.Trainable. Everything but `config` is the same for all trials of a study."""
        os.environ["OMP_NUM_THREADS"] = "1"  # a trial has one core
        os.environ["MKL_DEBUG_CPU_TYPE"] = "5"  # else Paddle's MKL takes a slow path on AMD
        from learning.registry import get_task  # Paddle comes after its environment

        self._plugin = get_task(task)
        self._epochs, self._seed = epochs, seed
        self._train, self._validation = train, validation
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """See tune.Trainable: this actor goes on with another candidate."""
        if self._train is None or self._validation is None:
            raise ValueError("a trial was made without its features; give them by tune.with_parameters")
        self._reports: Iterator[TrialReport] = self._plugin.train_trial(
            dict(new_config), self._epochs, self._seed, self._train, self._validation
        )
        return True

    def step(self) -> dict[str, Any]:
        """See tune.Trainable. The last epoch says that the trial is done."""
        report = next(self._reports)
        return {**report.to_json(), "done": report.epoch >= self._epochs}
