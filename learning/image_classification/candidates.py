"""What can be searched: the parameters of a training, of a head or of a tail, checked once when they come in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learning.errors import PlanImpossibleError
from learning.image_classification.head_weights import HEAD_KINDS, HeadKind

# (learning rate, weight decay) that do well with features of EfficientNet-Lite; factors vary them.
_BASE: dict[str, tuple[float, float]] = {"linear": (2e-3, 1.0), "cosine": (5e-3, 0.01), "mlp": (1e-3, 0.1)}
_TAIL_RATE, _TAIL_HEAD_RATE, _TAIL_DECAY = 3e-4, 2e-3, 0.02


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
    """Read a candidate; absent ones have defaults. Raises PlanImpossibleError for an unknown head or a bad value."""
    kind = candidate.get("head", "cosine")
    if kind not in HEAD_KINDS:
        raise PlanImpossibleError("head_unknown", f"There is no head {kind!r}; choose one of: {', '.join(HEAD_KINDS)}.")
    rate, decay = _BASE[kind]
    return HeadParameters(
        kind=kind,
        learning_rate=rate * _number(candidate, "rate_factor", 1.0, 1e-3, 1e3),
        weight_decay=decay * _number(candidate, "decay_factor", 1.0, 0.0, 1e3),
        dropout=_number(candidate, "dropout", 0.2, 0.0, 0.95),
        smoothing=_number(candidate, "smoothing", 0.0, 0.0, 0.9),
        is_balanced=_switch(candidate, "balance", False),
        is_mirrored=_switch(candidate, "mirror", True),
    )


@dataclass(frozen=True)
class TailParameters:
    """place: where the tail begins; learning rates of AdamW for the tail and the head behind it; smoothing of the
    labels; mixup: of Beta(mixup, mixup), 0 for none; averaging: of the weights, 0 for none. The rest as for heads.
    """

    place: str
    learning_rate: float
    head_learning_rate: float
    weight_decay: float
    dropout: float
    smoothing: float
    mixup: float
    averaging: float
    is_balanced: bool
    is_mirrored: bool


def is_tail(candidate: Mapping[str, Any]) -> bool:
    """Whether a part of the backbone is to be trained, too."""
    return bool(candidate.get("tail"))


def tail_parameters(candidate: Mapping[str, Any]) -> TailParameters:
    """Read a candidate; absent ones have defaults. Raises PlanImpossibleError for a bad value.

    Whether the backbone can be cut there is checked by its user.
    """
    factor = _number(candidate, "rate_factor", 1.0, 1e-3, 1e3)
    return TailParameters(
        place=str(candidate["tail"]),
        learning_rate=_TAIL_RATE * factor,
        head_learning_rate=_TAIL_HEAD_RATE * factor,
        weight_decay=_TAIL_DECAY * _number(candidate, "decay_factor", 1.0, 0.0, 1e3),
        dropout=_number(candidate, "dropout", 0.2, 0.0, 0.95),
        smoothing=_number(candidate, "smoothing", 0.1, 0.0, 0.9),
        mixup=_number(candidate, "mixup", 0.0, 0.0, 10.0),
        averaging=_number(candidate, "averaging", 0.0, 0.0, 0.9999),
        is_balanced=_switch(candidate, "balance", False),
        is_mirrored=_switch(candidate, "mirror", True),
    )


def _number(candidate: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = candidate.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        sentence = f"The parameter {name} is {value!r}; give a number from {least:g} to {most:g}."
        raise PlanImpossibleError("parameter_invalid", sentence)
    return float(value)


def _switch(candidate: Mapping[str, Any], name: str, default: bool) -> bool:
    value = candidate.get(name, default)
    if not isinstance(value, bool):
        raise PlanImpossibleError("parameter_invalid", f"The parameter {name} is {value!r}; give true or false.")
    return value
