"""What the trainings of heads and tails share about targets and noise. Pure."""

import numpy as np
from numpy.typing import NDArray

_BALANCE_BETA = 0.99  # Cui et al., Class-Balanced Loss (2019): effective number of samples


def smoothed(targets: NDArray[np.int64], class_count: int, smoothing: float) -> NDArray[np.float32]:
    """float32 [N, C]: the true class gets 1 - smoothing, and every class its part of the rest."""
    hard = np.eye(class_count, dtype=np.float32)[targets]
    return hard * np.float32(1 - smoothing) + np.float32(smoothing / class_count)


def class_weights(targets: NDArray[np.int64], class_count: int, is_balanced: bool) -> NDArray[np.float32]:
    """float32 [C] with mean 1 over the samples; all 1 unless balanced."""
    counts = np.bincount(targets, minlength=class_count)
    if not is_balanced:
        return np.ones(len(counts), np.float32)
    each = (1 - _BALANCE_BETA) / (1 - _BALANCE_BETA ** np.maximum(counts, 1))
    return np.asarray(each / each[targets].mean(), np.float32)


def dropout_mask(random: np.random.Generator, shape: tuple[int, ...], rate: float) -> NDArray[np.float32]:
    """0 with probability `rate` (to 1/256), otherwise what keeps the mean. Paddle's own dropout is slow on a CPU."""
    dropped = round(rate * 256)
    is_kept = np.frombuffer(random.bytes(int(np.prod(shape))), np.uint8).reshape(shape) >= dropped
    return is_kept * np.float32(256 / (256 - dropped))
