"""The trainable part of a backbone, behind a cut, as plain arrays."""

from dataclasses import dataclass

from learning.backbones.efficientnet_lite import (
    FEATURE_DIM,
    VARIANTS,
    BlockShape,
    Cut,
    Layer,
    Variant,
    block_shapes,
    cuts,
)
from learning.backbones.efficientnet_lite import pretrained_layers as layers_of
from learning.errors import PlanImpossibleError


@dataclass(frozen=True)
class TailWeights:
    """Layers by name (blocks.<i>.expand / depthwise / project from the cut on, and head), as the backbone has them."""

    backbone: str
    place: str
    layers: dict[str, Layer]

    @property
    def variant(self) -> Variant:
        """The backbone's shape."""
        return VARIANTS[self.backbone]

    @property
    def cut(self) -> Cut:
        """Where it begins."""
        return cut_at(self.variant, self.place)

    @property
    def shapes(self) -> tuple[BlockShape, ...]:
        """Of the backbone's blocks, all of them."""
        return block_shapes(self.variant)


def cut_at(variant: Variant, place: str) -> Cut:
    """Raises PlanImpossibleError for a place where this backbone cannot be cut."""
    known = cuts(variant)
    if place not in known:
        sentence = f"{variant.name} cannot be trained from {place!r} on; choose one of: {', '.join(known)}."
        raise PlanImpossibleError("tail_unknown", sentence)
    return known[place]


def pretrained_tail(backbone: str, place: str) -> TailWeights:
    """As ImageNet left it. Raises PlanImpossibleError, ArtefactInvalidError."""
    variant = VARIANTS[backbone]
    first = cut_at(variant, place).index
    names = {f"blocks.{index}" for index in range(first, len(block_shapes(variant)))}
    layers = {
        name: layer for name, layer in layers_of(variant).items() if name == "head" or name.rpartition(".")[0] in names
    }
    return TailWeights(backbone, place, layers)


def multiplications(variant: Variant, place: str) -> float:
    """Of a forward pass through the tail in matrix form, for one picture; a training step takes three times as many."""
    cut = cut_at(variant, place)
    side, total = cut.side, 0.0
    for shape in block_shapes(variant)[cut.index :]:
        out = -(-side // shape.stride)
        total += shape.hidden * (shape.channels_in * side**2 + side**2 * out**2 + shape.channels_out * out**2)
        side = out
    return total + block_shapes(variant)[-1].channels_out * FEATURE_DIM * side**2
