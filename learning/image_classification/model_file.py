"""A trained model as the bytes that travel from the fit to the export: the name of its backbone, and its head."""

import io
import json
import zipfile
from dataclasses import dataclass

import numpy as np

from learning.errors import ArtefactInvalidError
from learning.image_classification.head_weights import HeadWeights


@dataclass(frozen=True)
class ImageModel:
    """What was learnt, and on which backbone."""

    backbone: str
    head: HeadWeights

    def to_bytes(self) -> bytes:
        """An .npz file in memory; equal models give equal bytes."""
        target = io.BytesIO()
        meta = {"backbone": self.backbone, "kind": self.head.kind, "is_mirrored": self.head.is_mirrored}
        arrays = {f"head.{name}": array for name, array in self.head.arrays.items()}
        np.savez(target, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]  # numpy's stub sees a flag
        return target.getvalue()


def model_from_bytes(stored: bytes) -> ImageModel:
    """Read what `to_bytes` wrote. Raises ArtefactInvalidError."""
    try:
        with np.load(io.BytesIO(stored), allow_pickle=False) as file:
            meta = json.loads(str(file["meta"]))
            arrays = {name.removeprefix("head."): file[name] for name in file.files if name.startswith("head.")}
            return ImageModel(meta["backbone"], HeadWeights(meta["kind"], meta["is_mirrored"], arrays))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        sentence = f"The trained model cannot be read ({error}); train it again."
        raise ArtefactInvalidError("model_damaged", sentence) from error
