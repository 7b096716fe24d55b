"""EfficientNet-Lite as ONNX nodes, written layer by layer, so that every tensor has a name that can be relied on.

"pictures" uint8 [N, S, S, 3] -> "features" float32 [N, 1280]; "block.<i>" is the output of block i.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from learning.backbones.efficientnet_lite import (
    FEATURE_DIM,
    PIXEL_MEAN,
    PIXEL_SCALE,
    BlockShape,
    Layer,
    Layers,
    Variant,
    block_shapes,
)

OPSET = 14
_IR_VERSION = 8  # what this opset came with; newer ones need newer runtimes


@dataclass
class GraphParts:
    """Nodes in order of computation, and constants."""

    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Append a node with one output; its name."""
        self.nodes.append(helper.make_node(operator, list(inputs), [output], output, **attributes))
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Its name."""
        self.constants[name] = value
        return name

    def convolve(self, x: str, name: str, layer: Layer, stride: int = 1, groups: int = 1) -> str:
        """A convolution with its bias, padded so that stride 1 keeps the size."""
        kernel, bias = self.constant(f"{name}.weight", layer.kernel), self.constant(f"{name}.bias", layer.bias)
        side = layer.kernel.shape[-1]
        padding = [(side - 1) // 2] * 4
        return self.add(
            "Conv", [x, kernel, bias], name, kernel_shape=[side] * 2, pads=padding, strides=[stride] * 2, group=groups
        )

    def relu6(self, x: str) -> str:
        """Between 0 and 6."""
        low, high = self.constant("zero", np.float32(0)), self.constant("six", np.float32(6))  # type: ignore[arg-type]  # a scalar is an array of no dimensions
        return self.add("Clip", [x, low, high], f"{x}.relu6")


def add_pixels(parts: GraphParts) -> str:
    """uint8 [N, S, S, 3] -> float32 [N, 3, S, S] about -1 to 1."""
    x = parts.add("Cast", ["pictures"], "pixels.float", to=TensorProto.FLOAT)
    x = parts.add("Transpose", [x], "pixels.planes", perm=[0, 3, 1, 2])
    x = parts.add("Sub", [x, parts.constant("pixels.mean", np.array(PIXEL_MEAN, np.float32))], "pixels.centred")
    return parts.add("Div", [x, parts.constant("pixels.scale", np.array(PIXEL_SCALE, np.float32))], "pixels")


def add_blocks(parts: GraphParts, x: str, shapes: Sequence[BlockShape], layers: Layers, first: int) -> str:
    """The blocks from `first` on, then the last convolution and the mean over the picture: "features"."""
    for index in range(first, len(shapes)):
        x = _add_block(parts, x, shapes[index], layers, index)
    x = parts.relu6(parts.convolve(x, "last", layers["head"]))
    return parts.add("ReduceMean", [x], "features", axes=[2, 3], keepdims=0)


def network(variant: Variant, layers: Layers) -> Any:
    """The whole backbone as an ONNX model."""
    parts = GraphParts()
    x = parts.relu6(parts.convolve(add_pixels(parts), "stem", layers["stem"], stride=2))
    add_blocks(parts, x, block_shapes(variant), layers, 0)
    side = variant.resolution
    return model_of(parts, {"pictures": (TensorProto.UINT8, [None, side, side, 3])}, {"features": [None, FEATURE_DIM]})


def model_of(
    parts: GraphParts, inputs: dict[str, tuple[int, list[int | None]]], outputs: dict[str, list[int | None]]
) -> Any:
    """A checked model. Outputs are float32."""
    graph = helper.make_graph(
        parts.nodes,
        "easyloop",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in parts.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="easyloop")
    model.ir_version = _IR_VERSION
    onnx.checker.check_model(model)
    return model


def _add_block(parts: GraphParts, x: str, shape: BlockShape, layers: Layers, index: int) -> str:
    name = f"blocks.{index}"
    y = x
    if shape.expansion > 1:
        y = parts.relu6(parts.convolve(y, f"{name}.expand", layers[f"{name}.expand"]))
    depthwise = layers[f"{name}.depthwise"]
    y = parts.relu6(parts.convolve(y, f"{name}.depthwise", depthwise, shape.stride, groups=shape.hidden))
    project = layers[f"{name}.project"]
    if shape.is_residual:
        return parts.add("Add", [x, parts.convolve(y, f"{name}.project", project)], f"block.{index}")
    return parts.convolve(y, f"block.{index}", project)
