"""Export with Paddle: the float32 network in Paddle's inference format. Importing this module imports Paddle."""

from pathlib import Path

import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from paddle import nn
from paddle.static import InputSpec

from learning.backbones.efficientnet_lite import VARIANTS, pretrained_layers
from learning.backbones.efficientnet_lite_runner import EfficientNetLite
from learning.image_classification.model_file import ImageModel


class Classifier(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """uint8 [N, S, S, 3] -> float32 scores [N, C]."""

    def __init__(self, model: ImageModel, temperature: float) -> None:
        super().__init__()
        variant = VARIANTS[model.backbone]
        self.backbone = EfficientNetLite(
            variant, {**pretrained_layers(variant), **(model.tail.layers if model.tail else {})}
        )
        self.head, self.temperature = model.head, temperature
        for name, array in model.head.arrays.items():
            self.register_buffer(name, paddle.to_tensor(array))
        self.eval()

    def forward(self, pictures: paddle.Tensor) -> paddle.Tensor:
        x = pictures.astype("float32")
        if self.head.is_mirrored:
            x = paddle.concat([x, paddle.flip(x, [2])])
        logits = self._logits(self.backbone(x))
        if self.head.is_mirrored:
            logits = logits.reshape([2, -1, self.head.class_count]).mean(0)
        return F.softmax(logits / self.temperature, axis=1)

    def _logits(self, x: paddle.Tensor) -> paddle.Tensor:
        if self.head.kind == "cosine":
            return F.normalize(x, axis=1) @ self.kernel * self.gain
        x = (x - self.mean) / self.scale
        if self.head.kind == "mlp":
            x = F.relu(x @ self.hidden_kernel + self.hidden_bias)
        return x @ self.kernel + self.bias


def export_paddle(model: ImageModel, temperature: float, folder: Path) -> None:
    """Write model.json and model.pdiparams into `folder`, for paddle.inference or paddle.jit.load."""
    paddle.disable_static()
    side = VARIANTS[model.backbone].resolution
    spec = [InputSpec([None, side, side, 3], "uint8", "pictures")]
    static = paddle.jit.to_static(Classifier(model, temperature), input_spec=spec, full_graph=True)
    paddle.jit.save(static, str(folder / "model"))
