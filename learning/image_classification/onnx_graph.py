"""One ONNX graph of backbone, tail, head, temperature and softmax: what a bundle's models are."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper, numpy_helper

from learning.backbones.efficientnet_lite import FEATURE_DIM
from learning.backbones.maps import MAP, map_tensor
from learning.backbones.network_onnx import GraphParts, add_blocks, model_of
from learning.backbones.quantising import quantise
from learning.image_classification.head_onnx import add_head
from learning.image_classification.model_file import ImageModel
from learning.image_classification.tail_weights import TailWeights

_TAIL = "tail."


def write_onnx(backbone: Path, precision: str, model: ImageModel, temperature: float, target: Path) -> None:
    """The whole way from "pictures" to "scores" and "vector"; `backbone` is its ONNX file in that precision.

    In int8 the backbone up to the cut is the very one that the tail was trained behind.
    """
    whole = onnx.load(str(backbone))
    vector, size = ("features", FEATURE_DIM)
    if model.tail is not None:
        _replace_tail(whole, precision, model.tail, model.maps)
        vector, size = map_tensor(model.tail.cut, precision), model.tail.cut.channels
    add_head(whole.graph, model.head, temperature, precision)
    _add_vector(whole.graph, vector, size, model)
    onnx.checker.check_model(whole)
    onnx.save(whole, str(target))


def _add_vector(graph: Any, source: str, size: int, model: ImageModel) -> None:
    """Give the graph the output "vector" [N, size], by which pictures are compared; see `evidence`."""
    if model.tail is not None:
        graph.node.append(helper.make_node("ReduceMean", [source], ["vector.all"], axes=[2, 3], keepdims=0))
        source = "vector.all"
    if model.head.is_mirrored:  # the second half is of the mirror images
        constants = {"vector.pairs": np.array([2, -1, size]), "vector.first": np.array(0)}
        graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
        graph.node.append(helper.make_node("Reshape", [source, "vector.pairs"], ["vector.paired"]))
        graph.node.append(helper.make_node("Gather", ["vector.paired", "vector.first"], ["vector"], axis=0))
    else:
        graph.node.append(helper.make_node("Identity", [source], ["vector"]))
    graph.output.append(helper.make_tensor_value_info("vector", TensorProto.FLOAT, [None, size]))


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
