"""How far figures can be trusted: intervals, reliability, and thresholds for a wanted precision. Pure."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from learning.study import Json

_Z = 1.96  # 95 %
_RESAMPLES = 200
_BINS = 10
PRECISIONS = (0.9, 0.95, 0.99)


def wilson_interval(hits: int, count: int) -> list[float] | None:
    """Of a share, with 95 % confidence (Wilson 1927): holds for few samples and for shares near 0 or 1, too."""
    if count == 0:
        return None
    share, z2 = hits / count, _Z * _Z
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    margin = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return [max(0.0, centre - margin), min(1.0, centre + margin)]


def macro_f1_interval(predicted: NDArray[np.int64], targets: NDArray[np.int64]) -> list[float] | None:
    """Of the mean F1 over the classes with test samples, by the bootstrap, with 95 % confidence. Deterministic."""
    if len(targets) == 0:
        return None
    random, classes = np.random.default_rng(0), int(max(targets.max(), predicted.max())) + 1
    found = []
    for _ in range(_RESAMPLES):
        rows = random.integers(len(targets), size=len(targets))
        found.append(_macro_f1(predicted[rows], targets[rows], classes))
    low, high = np.quantile(found, [0.025, 0.975])
    return [float(low), float(high)]


def reliability(confidences: NDArray[np.float64], is_right: NDArray[np.bool_]) -> list[Json]:
    """By bins of confidence: how many predictions, how sure they were, how many of them were right."""
    bins = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    return [
        {
            "from": float(each / _BINS),
            "to": float((each + 1) / _BINS),
            "count": int((bins == each).sum()),
            "confidence": float(confidences[bins == each].mean()),
            "accuracy": float(is_right[bins == each].mean()),
        }
        for each in np.unique(bins)
    ]


def thresholds_for(
    confidences: NDArray[np.float64], is_right: NDArray[np.bool_], precisions: Sequence[float] = PRECISIONS
) -> list[Json]:
    """For each wanted precision the lowest confidence from which that share of the predictions was right, and how many
    are left then; threshold null where no confidence is enough.
    """
    return [{"precision": wanted, **_threshold_for(confidences, is_right, wanted)} for wanted in precisions]


def _threshold_for(confidences: NDArray[np.float64], is_right: NDArray[np.bool_], wanted: float) -> Json:
    order = np.argsort(-confidences, kind="stable")
    ranked, taken = confidences[order], np.arange(1, len(order) + 1)
    shares = np.cumsum(is_right[order]) / taken
    # Of equally sure ones all are taken or none.
    is_step = np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)]
    enough = np.flatnonzero((shares >= wanted) & is_step)
    if len(enough) == 0:
        return {"threshold": None, "taken_share": 0.0, "found_precision": None}
    last = int(enough[-1])
    # Rounded down, so that the least sure of them is still taken.
    threshold = math.floor(float(ranked[last]) * 1000) / 1000
    return {
        "threshold": threshold,
        "taken_share": float((last + 1) / len(ranked)),
        "found_precision": float(shares[last]),
    }


def _macro_f1(predicted: NDArray[np.int64], targets: NDArray[np.int64], classes: int) -> float:
    hits = np.bincount(targets[predicted == targets], minlength=classes)
    asked, told = np.bincount(targets, minlength=classes), np.bincount(predicted, minlength=classes)
    tested = asked > 0
    return float((2 * hits[tested] / np.maximum(asked[tested] + told[tested], 1)).mean())
