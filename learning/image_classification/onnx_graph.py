"""One ONNX graph of backbone, head, temperature and softmax: what a bundle's model.onnx is."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from learning.image_classification.head_weights import HeadWeights


def write_onnx(backbone: Path, head: HeadWeights, temperature: float, target: Path) -> None:
    """Attach head, temperature and softmax to the backbone's ONNX file."""
    model = onnx.load(str(backbone))
    graph = model.graph
    arrays: dict[str, NDArray[Any]] = {**head.arrays, "temperature": np.array([temperature], np.float32)}
    nodes = _head_nodes(head.kind)
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
    onnx.checker.check_model(model)
    onnx.save(model, str(target))


def _head_nodes(kind: str) -> list[Any]:
    node = helper.make_node
    if kind == "cosine":
        nodes = [
            node("LpNormalization", ["features"], ["head.unit"], axis=1, p=2),
            node("MatMul", ["head.unit", "head.kernel"], ["head.similarity"]),
            node("Mul", ["head.similarity", "head.gain"], ["head.logits"]),
        ]
    else:
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
        nodes.append(node("Gemm", [inputs, "head.kernel", "head.bias"], ["head.logits"]))
    return nodes


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
