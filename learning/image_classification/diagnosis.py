"""What the training samples tell about themselves, by linear classifiers that are solved, not trained. Pure.

A ridge regression onto the classes takes a fraction of a second and comes near to the best head, so it can be fitted
many times over: to find labels that their look-alikes contradict, and to see what more data would bring.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.image_classification.folds import grouped_folds
from learning.study import Json

_FOLDS = 4
_RIDGE = 0.3  # of the number of samples; features have variance 1
_PARTS = (0.25, 0.5, 1.0)  # of the samples, for the learning curve
_SUSPECT_MARGIN = 0.3  # by which another class must be ahead of the label, on a scale where 1 is the label's own goal
_MOST_SUSPECTS = 50


def diagnose(
    features: NDArray[np.float16], targets: NDArray[np.int64], shas: Sequence[str], class_ids: Sequence[str]
) -> Json:
    """suspects [{sha, label, looks_like, margin}]: labels to look at, the worst first.

    learning_curve [{samples, error}]: the share of wrong answers about pictures without look-alikes among the learnt
    ones, by how many were learnt.

    features: [N, D]; targets: indexes into class_ids.
    """
    if len(np.unique(targets)) < 2:
        return {"suspects": [], "learning_curve": []}
    judge = _Judge(_standardised(features), targets, len(class_ids), grouped_folds(features, targets, _FOLDS))
    scores = {part: judge.held_out_scores(part) for part in _PARTS}
    curve = [
        {"samples": round(len(targets) * part * (1 - 1 / _FOLDS)), "error": _error(found, targets)}
        for part, found in scores.items()
    ]
    return {"suspects": _suspects(scores[1.0], targets, shas, class_ids), "learning_curve": curve}


def expected_error(error: float, curve: Sequence[Json], factor: float) -> float | None:
    """The error with `factor` times as much data, by the power law that the curve follows (Hestness et al. 2017).

    None where the curve cannot tell: there are no mistakes to begin with, or too few to see them become fewer.
    """
    points = [(point["samples"], point["error"]) for point in curve if point["error"] > 0 and point["samples"] > 0]
    if len(points) < 2 or error <= 0:
        return None
    logarithms = np.log(np.array(points))
    slope = float(np.polyfit(logarithms[:, 0], logarithms[:, 1], 1)[0])
    return float(error * factor ** min(0.0, slope))


@dataclass(frozen=True)
class _Judge:
    """x: float32 [N, D] standardised; fold_of: [N]."""

    x: NDArray[np.float32]
    targets: NDArray[np.int64]
    class_count: int
    fold_of: NDArray[np.int64]

    def held_out_scores(self, part: float) -> NDArray[np.float32]:
        """float32 [N, C], each sample's by a classifier that learnt from this part of the other folds."""
        wanted = np.eye(self.class_count, dtype=np.float32)[self.targets]
        chosen = self._chosen(part)
        scores = np.zeros(wanted.shape, np.float32)
        for fold in np.unique(self.fold_of):
            held_out = self.fold_of == fold
            learnt = ~held_out & chosen
            scores[held_out] = self.x[held_out] @ _solved(self.x[learnt], wanted[learnt])
        return scores

    def _chosen(self, part: float) -> NDArray[np.bool_]:
        """This part of every class, rounded up; the smaller ones are within the larger ones."""
        random, chosen = np.random.default_rng(0), np.zeros(len(self.targets), np.bool_)
        for label in np.unique(self.targets):
            rows = random.permutation(np.flatnonzero(self.targets == label))
            chosen[rows[: -int(-len(rows) * part // 1)]] = True
        return chosen


def _standardised(features: NDArray[np.float16]) -> NDArray[np.float32]:
    x = features.astype(np.float32)
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + np.float32(1e-3))
    return np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1)


def _solved(x: NDArray[np.float32], wanted: NDArray[np.float32]) -> NDArray[np.float32]:
    if not len(x):
        return np.zeros((x.shape[1], wanted.shape[1]), np.float32)
    penalty = np.float32(_RIDGE * len(x)) * np.eye(x.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(x.T @ x + penalty, x.T @ wanted), np.float32)


def _error(scores: NDArray[np.float32], targets: NDArray[np.int64]) -> float:
    return float((scores.argmax(axis=1) != targets).mean())


def _suspects(
    scores: NDArray[np.float32], targets: NDArray[np.int64], shas: Sequence[str], class_ids: Sequence[str]
) -> list[Json]:
    rows = np.arange(len(targets))
    others = scores.copy()
    others[rows, targets] = -np.inf
    rival = others.argmax(axis=1)
    margins = scores[rows, rival] - scores[rows, targets]
    order = np.argsort(-margins, kind="stable")
    return [
        {
            "sha": shas[row],
            "label": class_ids[targets[row]],
            "looks_like": class_ids[rival[row]],
            "margin": round(float(margins[row]), 4),
        }
        for row in order[:_MOST_SUSPECTS]
        if margins[row] > _SUSPECT_MARGIN
    ]
