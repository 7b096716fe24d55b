"""In which precision a model is served. Pure."""

from collections.abc import Mapping, Sequence

from learning.task import Prediction, Truth, Vector

MOST_LOST = 0.005
"""Of accuracy, for a model that answers in half the time or less."""


def accuracy_of(truths: Sequence[Truth], predicted: Sequence[tuple[Prediction, Vector]]) -> float | None:
    """None without samples."""
    right = [prediction.best.class_id in truth.labels for truth, (prediction, _) in zip(truths, predicted, strict=True)]
    return sum(right) / len(right) if right else None


def choose_precision(accuracies: Mapping[str, float | None]) -> str:
    """The first, which is the fastest, unless it loses more than MOST_LOST against the best of the same samples."""
    fastest = next(iter(accuracies))
    known = {name: accuracy for name, accuracy in accuracies.items() if accuracy is not None}
    if not known:
        return fastest
    best = max(known.values())
    return next(name for name, accuracy in known.items() if accuracy >= best - MOST_LOST)
