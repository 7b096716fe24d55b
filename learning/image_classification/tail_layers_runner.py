"""The tail of a backbone as plain layers, for training on a GPU. Importing this module imports Paddle."""

import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from paddle import nn

from learning.backbones.efficientnet_lite import FEATURE_DIM, Layer
from learning.backbones.efficientnet_lite_runner import InvertedResidual
from learning.image_classification.tail_weights import TailWeights


class LayerTail(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """float32 maps [N, channels * side * side] -> float32 features [N, 1280]; what MatrixTail computes."""

    def __init__(self, weights: TailWeights) -> None:
        super().__init__()
        self._weights = weights
        shapes = weights.shapes[weights.cut.index :]
        self.blocks = nn.LayerList([InvertedResidual(shape) for shape in shapes])
        self.head = nn.Conv2D(shapes[-1].channels_out, FEATURE_DIM, 1)
        for name, convolution in self._convolutions().items():
            convolution.weight.set_value(weights.layers[name].kernel)
            convolution.bias.set_value(weights.layers[name].bias)

    def forward(self, maps: paddle.Tensor) -> paddle.Tensor:
        cut = self._weights.cut
        x = maps.reshape([maps.shape[0], cut.channels, cut.side, cut.side])
        for block in self.blocks:
            x = block(x)
        return F.relu6(self.head(x)).mean([2, 3])

    def weights(self) -> TailWeights:
        """As they are now."""
        layers = {
            name: Layer(convolution.weight.numpy(), convolution.bias.numpy())
            for name, convolution in self._convolutions().items()
        }
        return TailWeights(self._weights.backbone, self._weights.place, layers)

    def _convolutions(self) -> dict[str, nn.Conv2D]:
        found = {"head": self.head}
        for index, block in enumerate(self.blocks, start=self._weights.cut.index):
            parts = {"expand": block.expand, "depthwise": block.depthwise, "project": block.project}
            found |= {f"blocks.{index}.{name}": part for name, part in parts.items()}
        return found
