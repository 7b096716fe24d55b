"""The exported folder: model.onnx, model-fp32.onnx, paddle/model.{json,pdiparams} and manifest.json, then the card.

The ONNX files take "pictures" uint8 [N, S, S, 3] and give "scores" float32 [N, C]: backbone, head, temperature and
softmax in one graph; model.onnx computes in int8, the other in float32. The Paddle files hold the float32 model, too.
"""

import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from learning.backbones.description import Backbone, sha256_of
from learning.errors import ArtefactInvalidError
from learning.image_classification.model_card import card_of, markdown_of
from learning.image_classification.model_file import ImageModel
from learning.image_classification.views import decoded_side
from learning.study import Json
from learning.task import BundleManifest, Calibration, ClassInfo

FORMAT = 1
MANIFEST_FILE = "manifest.json"
CARD_FILES = ("MODEL_CARD.md", "model_card.json")
MODEL_FILES = {"int8": "model.onnx", "fp32": "model-fp32.onnx"}
_RECORDED_VERSIONS = ("numpy", "onnx", "onnxruntime", "paddlepaddle", "pillow")


def write_manifest(
    folder: Path, classes: Sequence[ClassInfo], calibration: Calibration, model: ImageModel, backbone: Backbone
) -> BundleManifest:
    """Describe and hash the files that are in `folder`; written last."""
    document: Json = {
        "format": FORMAT,
        "task": "image_classification",
        "classes": [{"id": each.id, "name": each.name} for each in classes],
        "calibration": calibration.to_json(),
        "preprocessing": _preprocessing(backbone.resolution),
        "models": MODEL_FILES,
        "served": "int8",
        "head": {"kind": model.head.kind, "averages_mirror_image": model.head.is_mirrored},
        "fine_tuned_from_block": model.tail.place if model.tail else None,
        "backbone": {"name": backbone.name, "version": backbone.version, "source": backbone.source},
        "licences": {"backbone weights": backbone.licence},
        "versions": {name: version(name) for name in _RECORDED_VERSIONS} | {"python": platform.python_version()},
    }
    _write(folder, document)
    return read_manifest(folder)


def settle_bundle(folder: Path, served: str, report: Json) -> None:
    """Say in which precision the model is served, and add the model card. Deterministic."""
    document: Json = {**read_manifest(folder).document, "served": served}
    card = card_of(document, report)
    (folder / CARD_FILES[0]).write_text(markdown_of(card), encoding="utf-8")
    (folder / CARD_FILES[1]).write_text(_text(card), encoding="utf-8")
    _write(folder, document)


def precisions_of(folder: Path) -> tuple[str, ...]:
    """Those of the models in the folder, the fastest first. Raises ArtefactInvalidError."""
    return tuple(_models(read_manifest(folder)))


def _write(folder: Path, document: Json) -> None:
    """The manifest, with the hashes of the files that are there."""
    files = {
        path.relative_to(folder).as_posix(): sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST_FILE
    }
    (folder / MANIFEST_FILE).write_text(_text({**document, "files": files}), encoding="utf-8")


def _text(document: Json) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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


def model_path(folder: Path, manifest: BundleManifest, precision: str | None = None) -> Path:
    """The ONNX file of a precision, of the served one when None. Raises ArtefactInvalidError where it is not there."""
    models = _models(manifest)
    wanted = precision or manifest.document.get("served", "int8")
    if wanted not in models:
        raise _invalid(folder, f"it has no model in {wanted}")
    return folder / str(models[wanted])


def _models(manifest: BundleManifest) -> dict[str, str]:
    # Bundles of before there was a choice hold one model, in int8.
    return dict(manifest.document.get("models", {"int8": MODEL_FILES["int8"]}))


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
