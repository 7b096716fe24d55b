"""Heads made for tests."""

import numpy as np

from learning.image_classification.head_weights import HeadKind, HeadWeights


def made_head(kind: HeadKind, is_mirrored: bool = False, dimensions: int = 8, classes: int = 3) -> HeadWeights:
    """A head with random weights, the same each time."""
    random = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return random.normal(size=shape).astype(np.float32)

    hidden = 6 if kind == "mlp" else dimensions
    arrays = {"kernel": array(hidden, classes), "bias": array(classes)}
    if kind == "cosine":
        kernel = arrays["kernel"] / np.linalg.norm(arrays["kernel"], axis=0)
        return HeadWeights(kind, is_mirrored, {"gain": np.array([9.0], np.float32), "kernel": kernel})
    arrays |= {"mean": array(dimensions), "scale": 1 + array(dimensions) ** 2}
    if kind == "mlp":
        arrays |= {"hidden_kernel": array(dimensions, hidden), "hidden_bias": array(hidden)}
    return HeadWeights(kind, is_mirrored, arrays)
