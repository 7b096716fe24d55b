"""One ONNX graph of backbone, tail, head, temperature and softmax: what a bundle's models are."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, compose

from learning.backbones.efficientnet_lite import FEATURE_DIM
from learning.backbones.maps import MAP, map_tensor
from learning.backbones.network_onnx import GraphParts, add_blocks, model_of
from learning.backbones.quantising import quantise
from learning.image_classification.head_onnx import add_head
from learning.image_classification.model_file import ImageModel
from learning.image_classification.tail_weights import TailWeights

_TAIL = "tail."


def write_onnx(backbone: Path, precision: str, model: ImageModel, temperature: float, target: Path) -> None:
    """The whole way from "pictures" to "scores"; `backbone` is its ONNX file in that precision ("fp32" or "int8").

    In int8 the backbone up to the cut is the very one that the tail was trained behind.
    """
    whole = onnx.load(str(backbone))
    if model.tail is not None:
        _replace_tail(whole, precision, model.tail, model.maps)
    add_head(whole.graph, model.head, temperature, precision)
    onnx.checker.check_model(whole)
    onnx.save(whole, str(target))


def _replace_tail(whole: Any, precision: str, tail: TailWeights, maps: NDArray[np.float16]) -> None:
    """Cut the network's own tail off and attach the trained one, which ends in "features", too."""
    end = map_tensor(tail.cut, precision)
    _keep_only_towards(whole.graph, end)
    trained = compose.add_prefix(_tail_model(precision, tail, maps), _TAIL)
    for node in trained.graph.node:
        node.input[:] = [end if name == _TAIL + MAP else name for name in node.input]
        node.output[:] = ["features" if name == f"{_TAIL}features" else name for name in node.output]
    whole.graph.node.extend(trained.graph.node)
    whole.graph.initializer.extend(trained.graph.initializer)


def _tail_model(precision: str, tail: TailWeights, maps: NDArray[np.float16]) -> Any:
    parts, cut = GraphParts(), tail.cut
    add_blocks(parts, MAP, tail.shapes, tail.layers, cut.index)
    shape = [None, cut.channels, cut.side, cut.side]
    exact = model_of(parts, {MAP: (TensorProto.FLOAT, shape)}, {"features": [None, FEATURE_DIM]})
    if precision == "fp32":
        return exact
    examples = maps.astype(np.float32).reshape(-1, cut.channels, cut.side, cut.side)
    with tempfile.TemporaryDirectory() as scratch:
        fp32, int8 = Path(scratch) / "fp32.onnx", Path(scratch) / "int8.onnx"
        onnx.save(exact, str(fp32))
        quantise(fp32, int8, MAP, iter(examples))
        return onnx.load(str(int8))


def _keep_only_towards(graph: Any, end: str) -> None:
    """Drop every node and constant that the tensor `end` does not depend on."""
    wanted, kept = {end}, []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= set(node.input)
    nodes = list(reversed(kept))
    constants = [each for each in graph.initializer if each.name in wanted]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
