"""In which precision a model is served. Pure."""

from collections.abc import Mapping, Sequence

from learning.task import Prediction, Truth, Vector

MOST_LOST = 0.005
"""Of accuracy, for a model that answers in half the time or less."""


def accuracy_of(truths: Sequence[Truth], predicted: Sequence[tuple[Prediction, Vector]]) -> float | None:
    """None without samples."""
    right = [prediction.best.class_id in truth.labels for truth, (prediction, _) in zip(truths, predicted, strict=True)]
    return sum(right) / len(right) if right else None


def choose_precision(accuracies: Mapping[str, float | None], count: int) -> str:
    """The first, the fastest, unless it loses more than MOST_LOST against the best of the same `count` samples.

    A single sample is no loss, however few there are.
    """
    fastest = next(iter(accuracies))
    known = {name: accuracy for name, accuracy in accuracies.items() if accuracy is not None}
    if not known:
        return fastest
    least = max(known.values()) - max(MOST_LOST, 1.5 / count)
    return next(name for name, accuracy in known.items() if accuracy >= least)
