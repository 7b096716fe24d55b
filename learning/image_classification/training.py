"""Trials and the final fit over cached features, without naming a framework in their signatures.

Paddle is imported by the first call, not by this module, so that processes which only predict stay small.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from learning.backbones.library import backbone_of
from learning.device import Device
from learning.errors import PlanImpossibleError
from learning.image_classification.calibration import fit_calibration, log_loss, softmax
from learning.image_classification.candidates import head_parameters
from learning.image_classification.features import ImageFeatures
from learning.image_classification.model_file import ImageModel
from learning.task import Candidate, FitStep, TrialReport

if TYPE_CHECKING:
    from learning.image_classification.heads_runner import HeadTraining

_FOLDS = 4
_MIN_VALIDATION = 40  # samples; below, one of them moves the accuracy by more than heads differ
_MIN_VALIDATION_PER_CLASS = 3
_CHECKPOINTS = 8  # in one fit


def run_trial(
    candidate: Candidate, epochs: int, seed: int, train: ImageFeatures, validation: ImageFeatures, device: Device
) -> Iterator[TrialReport]:
    """One report an epoch, on validation, or by cross-validation over both sets where the candidate says into how many
    "folds", or where validation is too small; see `TaskPlugin`.
    """
    folds = int(candidate.get("folds", 0)) or (_FOLDS if is_too_small(validation) else 0)
    if folds:
        yield from _cross_validated(candidate, epochs, seed, train.joined(validation), folds, device)
        return
    training = start_training(candidate, epochs, seed, train, device)
    for epoch in range(1, epochs + 1):
        training.run_epoch()
        yield _report(epoch, training.weights().logits_of_views(validation.values), validation.targets)


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
    model = ImageModel(backbone_of(features.recipe), training.weights())
    yield FitStep(epochs, 1.0, {"loss": loss}, training.checkpoint(), model.to_bytes())


def start_training(
    candidate: Candidate, epochs: int, seed: int, features: ImageFeatures, device: Device
) -> "HeadTraining":
    """A training at epoch 0. Raises PlanImpossibleError for no samples. Imports Paddle."""
    from learning.image_classification.heads_runner import HeadTraining, TrainingSet

    if not features.shas:
        raise PlanImpossibleError("no_samples", "There is nothing to train on; add labelled pictures.")
    parameters = head_parameters(candidate)
    values = features.values if parameters.is_mirrored else features.values[::2]
    data = TrainingSet(values, features.targets, len(features.class_ids))
    return HeadTraining(data, parameters, epochs, seed, device)


def is_too_small(validation: ImageFeatures) -> bool:
    """Whether so few samples cannot tell candidates apart."""
    return len(validation.shas) < max(_MIN_VALIDATION, _MIN_VALIDATION_PER_CLASS * len(validation.class_ids))


def stratified_folds(targets: NDArray[np.int64], folds: int) -> list[NDArray[np.int64]]:
    """Row numbers of each fold: every class is dealt out in turn; deterministic. Empty folds are left out."""
    order = np.argsort(targets, kind="stable")
    dealt = [np.sort(order[start::folds]) for start in range(folds)]
    return [fold for fold in dealt if len(fold)]


def _cross_validated(
    candidate: Candidate, epochs: int, seed: int, pooled: ImageFeatures, count: int, device: Device
) -> Iterator[TrialReport]:
    """All folds advance together, so that each epoch has one report over every sample."""
    folds = stratified_folds(pooled.targets, count)
    if len(folds) < 2:
        raise PlanImpossibleError("too_few_samples", "Cross-validation needs at least two pictures; add more.")
    trainings = [start_training(candidate, epochs, seed, _without(pooled, fold), device) for fold in folds]
    logits = np.zeros((len(pooled.shas), len(pooled.class_ids)), np.float32)
    for epoch in range(1, epochs + 1):
        for training, fold in zip(trainings, folds, strict=True):
            training.run_epoch()
            logits[fold] = training.weights().logits_of_views(pooled.values[:2, fold])
        yield _report(epoch, logits, pooled.targets)


def _without(features: ImageFeatures, fold: Sequence[int] | NDArray[np.int64]) -> ImageFeatures:
    outside = set(range(len(features.shas))) - {int(row) for row in fold}
    return features.subset([features.shas[row] for row in sorted(outside)])


def _report(epoch: int, logits: NDArray[np.float32], targets: NDArray[np.int64]) -> TrialReport:
    calibration = fit_calibration(logits, targets)
    accuracy = float((logits.argmax(axis=1) == targets).mean())
    return TrialReport(epoch, accuracy, log_loss(softmax(logits, calibration.temperature), targets), calibration)
