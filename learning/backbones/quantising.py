"""From float32 to int8: static, unsigned activations, signed weights a channel, ranges from pictures or maps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process


def quantise(fp32: Path, int8: Path, name: str, inputs: Iterator[NDArray[Any]]) -> None:
    """Write the int8 network; `inputs`, each of one sample without the batch axis, are fed as the input `name`."""
    prepared = int8.with_suffix(".prepared.onnx")
    quant_pre_process(str(fp32), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(int8),
        _Calibration(name, inputs),
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
    def __init__(self, name: str, inputs: Iterator[NDArray[Any]]) -> None:
        self._name, self._inputs = name, inputs

    def get_next(self) -> dict[str, Any] | None:
        each = next(self._inputs, None)
        return None if each is None else {self._name: each[np.newaxis]}
