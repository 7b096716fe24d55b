"""Build a backbone folder: pretrained weights -> ONNX -> int8. About 15 seconds, once."""

import os
import tempfile
from pathlib import Path

import onnx

from learning.backbones import efficientnet_lite
from learning.backbones.calibration import calibration_pictures
from learning.backbones.description import FP32_FILE, INT8_FILE, VERSION, Backbone, read_backbone, sha256_of
from learning.backbones.efficientnet_lite import Variant
from learning.backbones.network_onnx import network
from learning.backbones.quantising import quantise

CALIBRATION_PICTURES = 128
_SEED = 0


def build_backbone(
    folder: Path, name: str = "efficientnet-lite0", picture_count: int = CALIBRATION_PICTURES
) -> Backbone:
    """Write the files into `folder`, which appears at once and complete; a complete one is left as it is.

    `picture_count` pictures calibrate the int8 network; fewer are faster and less exact.

    Deterministic for given versions of the libraries. Raises ArtefactInvalidError for missing weights.
    """
    if folder.is_dir() and any(folder.iterdir()):
        return read_backbone(folder)
    variant = efficientnet_lite.VARIANTS[name]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".backbone-") as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        fp32, int8 = built / FP32_FILE, built / INT8_FILE
        onnx.save(network(variant, efficientnet_lite.pretrained_layers(variant)), str(fp32))
        pictures = calibration_pictures(picture_count, variant.resolution, _SEED)
        quantise(fp32, int8, "pictures", pictures)
        _describe(variant, built).write(built)
        _appear(built, folder)
    return read_backbone(folder)


def _appear(built: Path, folder: Path) -> None:
    if folder.is_dir():
        folder.rmdir()
    try:
        os.replace(built, folder)
    except OSError:
        # Another process was faster; what it built is as good.
        if not folder.is_dir():
            raise


def _describe(variant: Variant, built: Path) -> Backbone:
    return Backbone(
        name=variant.name,
        version=VERSION,
        resolution=variant.resolution,
        feature_dim=efficientnet_lite.FEATURE_DIM,
        licence=efficientnet_lite.WEIGHTS_LICENCE,
        source=variant.weights_source,
        files={name: sha256_of(built / name) for name in (FP32_FILE, INT8_FILE)},
    )
