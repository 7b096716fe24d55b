"""The maps inside a backbone, from which the tail behind a cut can be trained and computed."""

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from learning.backbones.efficientnet_lite import Cut

MAP = "map"


def map_tensor(cut: Cut, precision: str) -> str:
    """The tensor that goes into the first block behind the cut; in int8 as that block sees it, back in float32."""
    name = f"block.{cut.index - 1}"
    return name if precision == "fp32" else f"{name}_DequantizeLinear_Output"


def with_map(network: Path, cut: Cut, precision: str) -> bytes:
    """The network as ONNX bytes with a second output "map", float32 [N, channels, side, side] of the cut.

    In int8 this costs nothing: what is taken out are numbers that were brought back to float32 anyway.
    """
    model = onnx.load(str(network))
    add_map(model.graph, cut, precision)
    return bytes(model.SerializeToString())


def add_map(graph: Any, cut: Cut, precision: str) -> None:
    """Give the graph the output "map"."""
    graph.node.append(helper.make_node("Identity", [map_tensor(cut, precision)], [MAP], MAP))
    shape = [None, cut.channels, cut.side, cut.side]
    graph.output.append(helper.make_tensor_value_info(MAP, TensorProto.FLOAT, shape))
