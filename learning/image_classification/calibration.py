"""From logits to honest scores: temperature, and the threshold below which a prediction is doubtful."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.task import Calibration

_TEMPERATURES = np.exp(np.linspace(-3, 3, 121))
_DOUBT = 0.01
_FALLBACK_THRESHOLD = 0.5  # where there is nothing to choose it by


def softmax(logits: NDArray[Any], temperature: float = 1.0) -> NDArray[np.float64]:
    """Rows that sum to 1, [N, C]."""
    z = logits.astype(np.float64) / temperature
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def log_loss(probabilities: NDArray[np.float64], targets: NDArray[np.int64]) -> float:
    """Mean negative logarithm of what the true class was given."""
    chosen = probabilities[np.arange(len(targets)), targets]
    return float(-np.log(np.maximum(chosen, 1e-12)).mean())


def fit_calibration(logits: NDArray[Any], targets: NDArray[np.int64]) -> Calibration:
    """Temperature of least log loss (Guo et al. 2017), then the threshold, on held-out logits [N, C]."""
    if len(targets) == 0:
        return Calibration(1.0, _FALLBACK_THRESHOLD)
    losses = [_cautious_loss(softmax(logits, float(t)), targets) for t in _TEMPERATURES]
    temperature = float(_TEMPERATURES[int(np.argmin(losses))])
    probabilities = softmax(logits, temperature)
    is_right = probabilities.argmax(axis=1) == targets
    return Calibration(temperature, best_threshold(probabilities.max(axis=1), is_right))


def _cautious_loss(probabilities: NDArray[np.float64], targets: NDArray[np.int64]) -> float:
    """Log loss as if a few of the samples were of any other class. Otherwise held-out samples that are all right, as
    near relatives of the trained ones are, would call for endless confidence.
    """
    doubt = _DOUBT + 1 / (len(targets) + 2)  # Laplace's rule of succession on top
    logarithms = np.log(np.maximum(probabilities, 1e-12))
    others = (logarithms.sum(axis=1) - logarithms[np.arange(len(targets)), targets]) / max(1, logarithms.shape[1] - 1)
    return float((1 - doubt) * log_loss(probabilities, targets) - doubt * others.mean())


def best_threshold(confidences: NDArray[np.float64], is_right: NDArray[np.bool_]) -> float:
    """The confidence from which a prediction is taken, of best F1: precision is how many of the taken ones are right,
    recall how many of all samples were taken and right. Two digits, 0.05 to 0.95.
    """
    if len(confidences) == 0:
        return _FALLBACK_THRESHOLD
    thresholds = np.arange(5, 96) / 100
    taken = confidences[np.newaxis] >= thresholds[:, np.newaxis]
    hits = (taken & is_right[np.newaxis]).sum(axis=1)
    f1 = 2 * hits / (taken.sum(axis=1) + len(confidences))
    # The highest of equally good ones: less sure than any right prediction so far is worth a look.
    return float(thresholds[np.flatnonzero(f1 == f1.max())[-1]])


def expected_calibration_error(confidences: NDArray[np.float64], is_right: NDArray[np.bool_]) -> float:
    """Mean distance between confidence and accuracy over 15 bins of equal width (Naeini et al. 2015)."""
    if len(confidences) == 0:
        return 0.0
    bins = np.minimum((confidences * 15).astype(int), 14)
    error = 0.0
    for each in np.unique(bins):
        inside = bins == each
        error += inside.mean() * abs(float(is_right[inside].mean()) - float(confidences[inside].mean()))
    return float(error)
