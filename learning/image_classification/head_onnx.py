"""The head as ONNX nodes, behind the "features" of a graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from learning.image_classification.head_weights import HeadWeights

_SMALL = 64_000  # numbers; a larger kernel is stored in 8 bits where the network is
_LEVELS = 127


def add_head(graph: Any, head: HeadWeights, temperature: float, precision: str) -> None:
    """Attach head, temperature and softmax; the graph's one output becomes "scores" float32 [N, C]."""
    arrays: dict[str, NDArray[Any]] = {**head.arrays, "temperature": np.array([temperature], np.float32)}
    nodes: list[Any] = []
    if precision == "int8":
        _store_in_8_bits(arrays, nodes)
    nodes += _head_nodes(head.kind)
    if head.is_mirrored:
        arrays |= _mirror_constants(head.class_count)
        _feed_mirror_images_too(graph)
        nodes += [
            helper.make_node("Reshape", ["head.logits", "head.pairs"], ["head.paired"]),
            helper.make_node("ReduceMean", ["head.paired"], ["head.averaged"], axes=[0], keepdims=0),
        ]
    nodes.append(helper.make_node("Div", [nodes[-1].output[0], "head.temperature"], ["head.scaled"]))
    nodes.append(helper.make_node("Softmax", ["head.scaled"], ["scores"], axis=1))
    graph.initializer.extend(numpy_helper.from_array(array, f"head.{name}") for name, array in arrays.items())
    graph.node.extend(nodes)
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, head.class_count]))


def _store_in_8_bits(arrays: dict[str, NDArray[Any]], nodes: list[Any]) -> None:
    """Large kernels become int8 with a scale a column. The runtime multiplies them out once, when it loads them."""
    for name in [name for name in ("hidden_kernel", "kernel") if name in arrays and arrays[name].size > _SMALL]:
        kernel = arrays.pop(name)
        scale = (np.abs(kernel).max(axis=0, keepdims=True) / _LEVELS + 1e-12).astype(np.float32)
        arrays |= {f"{name}.levels": np.round(kernel / scale).astype(np.int8), f"{name}.scale": scale}
        place = f"head.{name}"
        nodes.append(helper.make_node("Cast", [f"{place}.levels"], [f"{place}.float"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"{place}.float", f"{place}.scale"], [place]))


def _head_nodes(kind: str) -> list[Any]:
    node = helper.make_node
    if kind == "cosine":
        return [
            node("LpNormalization", ["features"], ["head.unit"], axis=1, p=2),
            node("MatMul", ["head.unit", "head.kernel"], ["head.similarity"]),
            node("Mul", ["head.similarity", "head.gain"], ["head.logits"]),
        ]
    nodes = [
        node("Sub", ["features", "head.mean"], ["head.centred"]),
        node("Div", ["head.centred", "head.scale"], ["head.standardised"]),
    ]
    inputs = "head.standardised"
    if kind == "mlp":
        nodes += [
            node("Gemm", [inputs, "head.hidden_kernel", "head.hidden_bias"], ["head.hidden_raw"]),
            node("Relu", ["head.hidden_raw"], ["head.hidden"]),
        ]
        inputs = "head.hidden"
    return [*nodes, node("Gemm", [inputs, "head.kernel", "head.bias"], ["head.logits"])]


def _feed_mirror_images_too(graph: Any) -> None:
    """The network sees [2N, S, S, 3]: the N pictures, then their mirror images."""
    for consumer in graph.node:
        consumer.input[:] = ["head.both" if name == "pictures" else name for name in consumer.input]
    mirror = ["pictures", "head.first", "head.end", "head.width", "head.step"]
    graph.node.insert(0, helper.make_node("Slice", mirror, ["head.mirrored"]))
    graph.node.insert(1, helper.make_node("Concat", ["pictures", "head.mirrored"], ["head.both"], axis=0))


def _mirror_constants(class_count: int) -> dict[str, NDArray[np.int64]]:
    before_first = np.iinfo(np.int64).min  # ONNX's way to let a backward slice include the first column
    numbers = {"first": [-1], "end": [before_first], "width": [2], "step": [-1], "pairs": [2, -1, class_count]}
    return {name: np.array(values, np.int64) for name, values in numbers.items()}
