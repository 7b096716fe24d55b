"""Trials and the final fit over cached features, without naming a framework in their signatures.

Paddle is imported by the first call, not by this module, so that processes which only predict stay small.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from learning.device import Device
from learning.errors import PlanImpossibleError
from learning.image_classification.calibration import fit_calibration, log_loss, softmax
from learning.image_classification.candidates import head_parameters, is_tail, tail_parameters
from learning.image_classification.features import ImageFeatures
from learning.image_classification.folds import grouped_folds
from learning.image_classification.model_file import ImageModel
from learning.image_classification.planning import FOLDS
from learning.study import Candidate
from learning.task import FitStep, TrialReport

_CHECKPOINTS = 8  # in one fit


class Training(Protocol):
    """A head or a tail in training. `epoch` counts those that are done."""

    epoch: int

    def run_epoch(self) -> float:
        """Train once over all samples; the mean loss."""

    def logits(self, features: ImageFeatures) -> NDArray[np.float32]:
        """float32 [N, C], as the exported model has them."""

    def model(self) -> ImageModel:
        """As it is now."""

    def checkpoint(self) -> bytes:
        """All that `restore` needs to go on exactly."""

    def restore(self, checkpoint: bytes) -> None:
        """Continue from a checkpoint of a training with the same arguments."""


def run_trial(
    candidate: Candidate, epochs: int, seed: int, pooled: ImageFeatures, device: Device
) -> Iterator[TrialReport]:
    """One report an epoch, of a tail only in the end; see `TaskPlugin`. The samples are dealt into "folds"; the first
    "judged_folds" of them are judged, each by a training on all the others.
    """
    folds = int(candidate.get("folds", FOLDS))
    fold_of = grouped_folds(pooled.values[0], pooled.targets, folds)
    judged = [fold for fold in range(int(candidate.get("judged_folds", folds))) if (fold_of == fold).any()]
    if len(np.unique(fold_of)) < 2:
        raise PlanImpossibleError("too_few_samples", "Judging a candidate needs at least two pictures; add more.")
    parts = [(_rows(pooled, fold_of != fold), _rows(pooled, fold_of == fold)) for fold in judged]
    trainings = [start_training(candidate, epochs, seed, rest, device) for rest, _ in parts]
    targets = np.concatenate([held_out.targets for _, held_out in parts])
    # All folds advance together, so that each epoch has one report over all judged samples.
    for epoch in range(1, epochs + 1):
        for training in trainings:
            training.run_epoch()
        if is_tail(candidate) and epoch < epochs:
            continue  # it is the only one of its stage: nobody compares it before its end, and judging takes seconds
        found = [training.logits(held_out) for training, (_, held_out) in zip(trainings, parts, strict=True)]
        yield _report(epoch, np.concatenate(found), targets)


def run_fit(
    candidate: Candidate, epochs: int, seed: int, features: ImageFeatures, resume: bytes | None, device: Device
) -> Iterator[FitStep]:
    """Train to the end, with a checkpoint every eighth of the way."""
    training = start_training(candidate, epochs, seed, features, device)
    if resume:
        training.restore(resume)
    every = max(1, epochs // _CHECKPOINTS)
    loss = 0.0
    while training.epoch < epochs:
        loss = training.run_epoch()
        if training.epoch % every == 0 and training.epoch < epochs:
            yield FitStep(training.epoch, training.epoch / epochs, {"loss": loss}, training.checkpoint())
    yield FitStep(epochs, 1.0, {"loss": loss}, training.checkpoint(), training.model().to_bytes())


def start_training(candidate: Candidate, epochs: int, seed: int, features: ImageFeatures, device: Device) -> Training:
    """A training at epoch 0. Raises PlanImpossibleError for no samples. Imports Paddle."""
    if not features.shas:
        raise PlanImpossibleError("no_samples", "There is nothing to train on; add labelled pictures.")
    if is_tail(candidate):
        from learning.image_classification.tail_training_runner import TailTraining

        return TailTraining(features, tail_parameters(candidate), epochs, seed, device)
    from learning.image_classification.heads_runner import HeadTraining

    return HeadTraining(features, head_parameters(candidate), epochs, seed, device)


def _rows(features: ImageFeatures, chosen: NDArray[np.bool_]) -> ImageFeatures:
    return features.subset([features.shas[row] for row in np.flatnonzero(chosen)])


def _report(epoch: int, logits: NDArray[np.float32], targets: NDArray[np.int64]) -> TrialReport:
    calibration = fit_calibration(logits, targets)
    accuracy = float((logits.argmax(axis=1) == targets).mean())
    loss = log_loss(softmax(logits, calibration.temperature), targets)
    return TrialReport(epoch, accuracy, loss, calibration, len(targets))
