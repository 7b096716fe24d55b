"""A trained head as plain arrays: how it is stored, and what it computes, without any framework.

linear: z = (x - mean) / scale @ kernel + bias
mlp:    z = relu((x - mean) / scale @ hidden_kernel + hidden_bias) @ kernel + bias
cosine: z = gain * unit(x) @ kernel, whose columns have length 1
x is float [N, D], z float32 [N, C] (logits).
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

HeadKind: TypeAlias = Literal["linear", "cosine", "mlp"]
HEAD_KINDS: tuple[HeadKind, ...] = ("linear", "cosine", "mlp")
_TINY = 1e-12


@dataclass(frozen=True)
class HeadWeights:
    """float32 arrays by name, as the kind demands. is_mirrored: the logits of a picture are the mean of its own
    and its mirror image's.
    """

    kind: HeadKind
    is_mirrored: bool
    arrays: dict[str, NDArray[np.float32]]

    @property
    def class_count(self) -> int:
        """C, the number of logits."""
        return int(self.arrays["kernel"].shape[1])

    def logits(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """float [N, D] -> float32 [N, C]."""
        x, a = features.astype(np.float32), self.arrays
        if self.kind == "cosine":
            length = np.linalg.norm(x, axis=1, keepdims=True)
            return np.asarray(a["gain"] * (x / np.maximum(length, _TINY)) @ a["kernel"], np.float32)
        x = (x - a["mean"]) / a["scale"]
        if self.kind == "mlp":
            x = np.maximum(x @ a["hidden_kernel"] + a["hidden_bias"], 0)
        return np.asarray(x @ a["kernel"] + a["bias"], np.float32)

    def logits_of_views(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """float [V, N, D] (view 1 being the mirror image of view 0) -> float32 [N, C], as the exported model has."""
        counted = values[:2] if self.is_mirrored else values[:1]
        return np.asarray(np.mean([self.logits(view) for view in counted], axis=0), np.float32)
