"""The tail of a backbone as matrix products, for training on a CPU. Importing this module imports Paddle.

Paddle's convolutions train slowly on a CPU, its matrix products fast. In the layout [C, N * H * W] a 1x1 convolution is
one product of matrices; a depthwise one is, for each channel, the product with a Toeplitz matrix made of its kernel.
Batch normalisation is folded into the kernels and not trained: the statistics of few pictures would only disturb it.
"""

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from numpy.typing import NDArray
from paddle import nn

from learning.backbones.efficientnet_lite import FEATURE_DIM, BlockShape, Layer
from learning.image_classification.tail_weights import TailWeights


class MatrixTail(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """float32 maps [N, channels * side * side] -> float32 features [N, 1280]."""

    def __init__(self, weights: TailWeights) -> None:
        super().__init__()
        self._weights = weights
        self._channels, side = weights.cut.channels, weights.cut.side
        self.blocks = nn.LayerList()
        spreads: dict[tuple[int, int, int], paddle.Tensor] = {}
        for index in range(weights.cut.index, len(weights.shapes)):
            shape = weights.shapes[index]
            key = (shape.kernel, shape.stride, side)
            if key not in spreads:
                spreads[key] = paddle.to_tensor(toeplitz_spread(*key))
            layers = {name: weights.layers[f"blocks.{index}.{name}"] for name in ("expand", "depthwise", "project")}
            self.blocks.append(_MatrixBlock(shape, layers, spreads[key], side))
            side = -(-side // shape.stride)
        self.kernel, self.bias = _pointwise(self, weights.layers["head"])

    def forward(self, maps: paddle.Tensor) -> paddle.Tensor:
        count = maps.shape[0]
        x = maps.reshape([count, self._channels, -1]).transpose([1, 0, 2])
        for block in self.blocks:
            x = block(x)
        x = F.relu6(self.kernel @ x.reshape([x.shape[0], -1]) + self.bias)
        return x.reshape([FEATURE_DIM, count, -1]).mean(2).t()

    def weights(self) -> TailWeights:
        """As they are now."""
        layers = {"head": _layer(self.kernel, self.bias)}
        for index, block in enumerate(self.blocks, start=self._weights.cut.index):
            layers |= {f"blocks.{index}.{name}": layer for name, layer in block.layers().items()}
        return TailWeights(self._weights.backbone, self._weights.place, layers)


class _MatrixBlock(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """float32 [C, N, H * W] in and out."""

    def __init__(self, shape: BlockShape, layers: dict[str, Layer], spread: paddle.Tensor, side: int) -> None:
        super().__init__()
        self._shape, self._spread, self._places = shape, spread, side * side
        self.expand, self.expand_bias = _pointwise(self, layers["expand"])
        self.depthwise = _parameter(self, layers["depthwise"].kernel.reshape(shape.hidden, -1))
        self.depthwise_bias = _parameter(self, layers["depthwise"].bias.reshape(-1, 1, 1))
        self.project, self.project_bias = _pointwise(self, layers["project"])

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        hidden, count = self._shape.hidden, x.shape[1]
        y = F.relu6(self.expand @ x.reshape([x.shape[0], -1]) + self.expand_bias)
        toeplitz = (self.depthwise @ self._spread).reshape([hidden, self._places, -1])
        y = F.relu6(paddle.bmm(y.reshape([hidden, count, -1]), toeplitz) + self.depthwise_bias)
        y = (self.project @ y.reshape([hidden, -1]) + self.project_bias).reshape([self._shape.channels_out, count, -1])
        return x + y if self._shape.is_residual else y

    def layers(self) -> dict[str, Layer]:
        side = self._shape.kernel
        kernel = self.depthwise.numpy().reshape(self._shape.hidden, 1, side, side)
        return {
            "expand": _layer(self.expand, self.expand_bias),
            "depthwise": Layer(kernel, self.depthwise_bias.numpy().reshape(-1)),
            "project": _layer(self.project, self.project_bias),
        }


def toeplitz_spread(kernel: int, stride: int, side: int) -> NDArray[np.float32]:
    """float32 [kernel * kernel, side * side * out * out]: which kernel cell joins an input place with an output place.

    A row of kernel cells times this is the matrix, [input places, output places], that convolves one channel.
    """
    padding, out = (kernel - 1) // 2, -(-side // stride)
    spread = np.zeros((kernel, kernel, side, side, out, out), np.float32)
    places = np.arange(out)
    for row in range(kernel):
        for column in range(kernel):
            y, x = places * stride + row - padding, places * stride + column - padding
            rows, columns = places[(y >= 0) & (y < side)], places[(x >= 0) & (x < side)]
            at = np.ix_(rows, columns)
            spread[row, column, y[rows][:, None], x[columns][None], at[0], at[1]] = 1
    return spread.reshape(kernel * kernel, -1)


def _parameter(owner: nn.Layer, value: NDArray[np.float32]) -> paddle.Tensor:
    return owner.create_parameter(list(value.shape), default_initializer=nn.initializer.Assign(value))


def _pointwise(owner: nn.Layer, layer: Layer) -> tuple[paddle.Tensor, paddle.Tensor]:
    return _parameter(owner, layer.kernel[:, :, 0, 0]), _parameter(owner, layer.bias.reshape(-1, 1))


def _layer(kernel: paddle.Tensor, bias: paddle.Tensor) -> Layer:
    return Layer(kernel.numpy()[:, :, np.newaxis, np.newaxis], bias.numpy().reshape(-1))
