"""Build a backbone folder: pretrained weights -> Paddle network -> ONNX -> int8. About 20 seconds, once.

Importing this module imports Paddle.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import paddle
import paddle2onnx
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process
from paddle.static import InputSpec

from learning.backbones import efficientnet_lite
from learning.backbones.calibration import calibration_pictures
from learning.backbones.description import VERSION, Backbone, read_backbone, sha256_of
from learning.backbones.efficientnet_lite_runner import EfficientNetLite0

CALIBRATION_PICTURES = 128
_SEED = 0
_OPSET = 14


def build_backbone(folder: Path, picture_count: int = CALIBRATION_PICTURES) -> Backbone:
    """Write the files into `folder`, which appears at once and complete; a complete one is left as it is.

    `picture_count` pictures calibrate the int8 network; fewer are faster and less exact.

    Deterministic for given versions of the libraries. Raises ArtefactInvalidError for missing weights.
    """
    if folder.is_dir() and any(folder.iterdir()):
        return read_backbone(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".backbone-") as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        fp32, int8 = built / "lite0-fp32.onnx", built / "lite0-int8.onnx"
        export_onnx(fp32, Path(scratch))
        quantise(fp32, int8, calibration_pictures(picture_count, efficientnet_lite.RESOLUTION, _SEED))
        _describe(fp32, int8).write(built)
        if folder.is_dir():
            folder.rmdir()
        os.replace(built, folder)
    return read_backbone(folder)


def export_onnx(target: Path, scratch: Path) -> None:
    """Write the float32 network; `scratch` takes the intermediate Paddle files."""
    paddle.disable_static()
    network = EfficientNetLite0(efficientnet_lite.pretrained_layers())
    spec = [InputSpec([None, None, None, 3], "uint8", "pictures")]
    static = paddle.jit.to_static(network, input_spec=spec, full_graph=True)
    prefix = scratch / "lite0"
    paddle.jit.save(static, str(prefix))
    paddle2onnx.export(f"{prefix}.json", f"{prefix}.pdiparams", str(prefix) + ".onnx", opset_version=_OPSET)
    model = onnx.load(str(prefix) + ".onnx")
    _rename_output(model.graph, "features")
    onnx.save(model, str(target))


def quantise(fp32: Path, int8: Path, pictures: Iterator[NDArray[np.uint8]]) -> None:
    """Write the int8 network: static, unsigned activations, signed weights a channel, ranges from `pictures`."""
    prepared = int8.with_suffix(".prepared.onnx")
    quant_pre_process(str(fp32), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(int8),
        _Calibration(pictures),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        # Without VNNI a processor adds pairs of 8-bit products in 16 bits, which 8-bit weights overflow.
        reduce_range=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
    )
    prepared.unlink()


class _Calibration(CalibrationDataReader):  # type: ignore[misc]  # ONNX Runtime's class is untyped here
    def __init__(self, pictures: Iterator[NDArray[np.uint8]]) -> None:
        self._pictures = pictures

    def get_next(self) -> dict[str, Any] | None:
        picture = next(self._pictures, None)
        return None if picture is None else {"pictures": picture[np.newaxis]}


def _rename_output(graph: Any, name: str) -> None:
    old = graph.output[0].name
    graph.output[0].name = name
    for node in graph.node:
        for position, output in enumerate(node.output):
            if output == old:
                node.output[position] = name


def _describe(fp32: Path, int8: Path) -> Backbone:
    return Backbone(
        name=efficientnet_lite.NAME,
        version=VERSION,
        resolution=efficientnet_lite.RESOLUTION,
        feature_dim=efficientnet_lite.FEATURE_DIM,
        licence=efficientnet_lite.WEIGHTS_LICENCE,
        source=efficientnet_lite.WEIGHTS_SOURCE,
        files={path.name: sha256_of(path) for path in (fp32, int8)},
    )
