"""The exported folder: model.onnx, paddle/model.{json,pdiparams} and manifest.json.

model.onnx takes "pictures" uint8 [N, S, S, 3] and gives "scores" float32 [N, C]: int8 backbone, head,
temperature and softmax in one graph. The Paddle files hold the same model in float32.
"""

import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from learning.backbones.description import Backbone, sha256_of
from learning.errors import ArtefactInvalidError
from learning.image_classification.head_weights import HeadWeights
from learning.image_classification.views import decoded_side
from learning.task import BundleManifest, Calibration, ClassInfo, Json

FORMAT = 1
MANIFEST_FILE = "manifest.json"
MODEL_FILE = "model.onnx"
_RECORDED_VERSIONS = ("numpy", "onnx", "onnxruntime", "paddlepaddle", "pillow")


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


def write_manifest(
    folder: Path, classes: Sequence[ClassInfo], calibration: Calibration, head: HeadWeights, backbone: Backbone
) -> BundleManifest:
    """Describe and hash the files that are in `folder`; written last."""
    files = {
        path.relative_to(folder).as_posix(): sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST_FILE
    }
    document: Json = {
        "format": FORMAT,
        "task": "image_classification",
        "classes": [{"id": each.id, "name": each.name} for each in classes],
        "calibration": calibration.to_json(),
        "preprocessing": _preprocessing(backbone.resolution),
        "head": {"kind": head.kind, "averages_mirror_image": head.is_mirrored},
        "backbone": {"name": backbone.name, "version": backbone.version, "source": backbone.source},
        "licences": {"backbone weights": backbone.licence},
        "versions": {name: version(name) for name in _RECORDED_VERSIONS} | {"python": platform.python_version()},
        "files": files,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")
    return read_manifest(folder)


def read_manifest(folder: Path) -> BundleManifest:
    """Read the manifest and verify every file it names. Raises ArtefactInvalidError."""
    try:
        document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        manifest = BundleManifest(
            task=document["task"],
            classes=tuple(ClassInfo(each["id"], each["name"]) for each in document["classes"]),
            calibration=Calibration(**document["calibration"]),
            files=document["files"],
            document=document,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _invalid(folder, f"manifest.json cannot be read ({error})") from error
    if document.get("format") != FORMAT:
        raise _invalid(folder, f"it is of format {document.get('format')}, this program reads {FORMAT}")
    for name, expected in manifest.files.items():
        if not (folder / name).is_file() or sha256_of(folder / name) != expected:
            raise _invalid(folder, f"{name} is missing or was changed")
    return manifest


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


def _preprocessing(resolution: int) -> Json:
    """What a program without this one must do to a picture before it gives it to the model."""
    return {
        "orientation": "apply EXIF",
        "transparency": "white",
        "colour": "RGB",
        "resize": [
            {"to": [decoded_side(resolution)] * 2, "keep_aspect": False, "filter": "antialiased bilinear"},
            {"to": [resolution] * 2, "keep_aspect": False, "filter": "antialiased bilinear"},
        ],
        "input": {"name": "pictures", "datatype": "UINT8", "shape": [-1, resolution, resolution, 3]},
        "output": {"name": "scores", "datatype": "FP32"},
    }


def _invalid(folder: Path, reason: str) -> ArtefactInvalidError:
    sentence = f"The model bundle {folder.name} cannot be used: {reason}; download or export it again."
    return ArtefactInvalidError("bundle_invalid", sentence)
