"""What a built backbone folder holds: fp32.onnx, int8.onnx and backbone.json."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from learning.errors import ArtefactInvalidError

DESCRIPTION_FILE = "backbone.json"
DEFAULT_BACKBONE = "efficientnet-lite0"
FP32_FILE = "fp32.onnx"
INT8_FILE = "int8.onnx"
VERSION = 2  # raise it whenever the features change, so that cached ones are not mixed with new ones


@dataclass(frozen=True)
class Backbone:
    """A network in a folder. `files`: name -> sha256. Input "pictures" uint8 [N, S, S, 3], output "features"
    float32 [N, feature_dim], S = resolution in pixels; inside, "block.<i>" is the output of block i.
    """

    name: str
    version: int
    resolution: int
    feature_dim: int
    licence: str
    source: str
    files: dict[str, str]

    def path_of(self, folder: Path, precision: str) -> Path:
        """The ONNX file of a precision, "fp32" or "int8", in the folder this was read from."""
        return folder / f"{precision}.onnx"

    def write(self, folder: Path) -> None:
        """Write backbone.json; done last, so that its presence says that the folder is complete."""
        (folder / DESCRIPTION_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_backbone(folder: Path) -> Backbone:
    """Read and verify a folder. Raises ArtefactInvalidError where it is missing, damaged or of another version."""
    path = folder / DESCRIPTION_FILE
    if not path.is_file():
        raise _invalid(folder, "there is no backbone.json")
    try:
        backbone = Backbone(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise _invalid(folder, f"backbone.json cannot be read ({error})") from error
    if backbone.version != VERSION:
        raise _invalid(folder, f"it is of version {backbone.version}, this program needs {VERSION}")
    for name, expected in backbone.files.items():
        if not (folder / name).is_file() or sha256_of(folder / name) != expected:
            raise _invalid(folder, f"{name} is missing or was changed")
    return backbone


def sha256_of(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _invalid(folder: Path, reason: str) -> ArtefactInvalidError:
    sentence = f"The backbone folder {folder} cannot be used: {reason}; delete it and build it again."
    return ArtefactInvalidError("backbone_invalid", sentence)
