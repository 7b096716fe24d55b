"""EfficientNet-Lite as a Paddle network: uint8 pictures in, features out.

Importing this module imports Paddle; set MKL_DEBUG_CPU_TYPE=5 and OMP_NUM_THREADS before.
"""

import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from paddle import nn

from learning.backbones.efficientnet_lite import (
    FEATURE_DIM,
    PIXEL_MEAN,
    PIXEL_SCALE,
    STEM_CHANNELS,
    BlockShape,
    Layers,
    Variant,
    block_shapes,
)


class InvertedResidual(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """expand, depthwise, project; float32 [N, C, H, W] in and out."""

    def __init__(self, shape: BlockShape) -> None:
        super().__init__()
        self.is_residual = shape.is_residual
        self.expand = nn.Conv2D(shape.channels_in, shape.hidden, 1) if shape.expansion > 1 else None
        padding = (shape.kernel - 1) // 2
        self.depthwise = nn.Conv2D(shape.hidden, shape.hidden, shape.kernel, shape.stride, padding, groups=shape.hidden)
        self.project = nn.Conv2D(shape.hidden, shape.channels_out, 1)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        y = x if self.expand is None else F.relu6(self.expand(x))
        y = self.project(F.relu6(self.depthwise(y)))
        return x + y if self.is_residual else y


class EfficientNetLite(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """uint8 [N, H, W, 3] (RGB) -> float32 features [N, 1280]."""

    def __init__(self, variant: Variant, layers: Layers) -> None:
        super().__init__()
        shapes = block_shapes(variant)
        self.stem = nn.Conv2D(3, STEM_CHANNELS, 3, 2, 1)
        self.blocks = nn.LayerList([InvertedResidual(shape) for shape in shapes])
        self.head = nn.Conv2D(shapes[-1].channels_out, FEATURE_DIM, 1)
        self.set_state_dict(_state(layers))
        self.eval()

    def forward(self, pictures: paddle.Tensor) -> paddle.Tensor:
        x = (pictures.astype("float32").transpose([0, 3, 1, 2]) - PIXEL_MEAN) / PIXEL_SCALE
        x = F.relu6(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return F.relu6(self.head(x)).mean([2, 3])


def _state(layers: Layers) -> dict[str, paddle.Tensor]:
    state = {}
    for name, layer in layers.items():
        if name != "classifier":
            state[f"{name}.weight"] = paddle.to_tensor(layer.kernel)
            state[f"{name}.bias"] = paddle.to_tensor(layer.bias)
    return state
