"""What can be searched: the parameters of a head's training, checked once when they come in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learning.errors import PlanImpossibleError
from learning.image_classification.head_weights import HEAD_KINDS, HeadKind

# (learning rate, weight decay) that do well with features of EfficientNet-Lite; factors vary them.
_BASE: dict[str, tuple[float, float]] = {"linear": (2e-3, 1.0), "cosine": (5e-3, 0.01), "mlp": (1e-3, 0.1)}


@dataclass(frozen=True)
class HeadParameters:
    """kind; learning_rate and weight_decay of AdamW; dropout of the features; smoothing of the labels;
    is_balanced: rare classes weigh more; is_mirrored: mirror images are the same class.
    """

    kind: HeadKind
    learning_rate: float
    weight_decay: float
    dropout: float
    smoothing: float
    is_balanced: bool
    is_mirrored: bool


def head_parameters(candidate: Mapping[str, Any]) -> HeadParameters:
    """Read a candidate; absent ones have defaults. Raises PlanImpossibleError for an unknown head."""
    kind = candidate.get("head", "cosine")
    if kind not in HEAD_KINDS:
        raise PlanImpossibleError("head_unknown", f"There is no head {kind!r}; choose one of: {', '.join(HEAD_KINDS)}.")
    rate, decay = _BASE[kind]
    return HeadParameters(
        kind=kind,
        learning_rate=rate * float(candidate.get("rate_factor", 1.0)),
        weight_decay=decay * float(candidate.get("decay_factor", 1.0)),
        dropout=float(candidate.get("dropout", 0.2)),
        smoothing=float(candidate.get("smoothing", 0.0)),
        is_balanced=bool(candidate.get("balance", False)),
        is_mirrored=bool(candidate.get("mirror", True)),
    )
