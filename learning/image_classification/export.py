"""From a trained model to a bundle. Imports onnx, and Paddle when it is called."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from learning.backbones.description import read_backbone
from learning.backbones.library import backbone_folder
from learning.errors import ArtefactInvalidError
from learning.image_classification.bundle import MODEL_FILES, write_manifest
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.onnx_graph import write_onnx
from learning.task import BundleManifest, Calibration, ClassInfo


def export_bundle(
    model: bytes, classes: Sequence[ClassInfo], calibration: Calibration, backbones: Path, out: Path
) -> BundleManifest:
    """See `TaskPlugin.export`. Deterministic; `out` appears at once and complete."""
    from learning.image_classification.export_runner import export_paddle

    trained = model_from_bytes(model)
    if trained.head.class_count != len(classes):
        found = trained.head.class_count
        sentence = f"The model tells {found} classes apart, but {len(classes)} are named; train again."
        raise ArtefactInvalidError("classes_differ", sentence)
    backbone = backbone_folder(backbones, trained.backbone)
    described = read_backbone(backbone)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".bundle-") as scratch:
        folder = Path(scratch) / "bundle"
        (folder / "paddle").mkdir(parents=True)
        for precision, name in MODEL_FILES.items():
            network = described.path_of(backbone, precision)
            write_onnx(network, precision, trained, calibration.temperature, folder / name)
        export_paddle(trained, calibration.temperature, folder / "paddle")
        manifest = write_manifest(folder, classes, calibration, trained, described)
        folder.rename(out)
    return manifest
