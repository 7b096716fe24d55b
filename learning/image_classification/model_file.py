"""A trained model as the bytes that travel from the fit to the export: backbone, head, and the tail if there is one."""

import io
import json
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.backbones.efficientnet_lite import Layer
from learning.errors import ArtefactInvalidError
from learning.image_classification.head_weights import HeadWeights
from learning.image_classification.tail_weights import TailWeights


def _no_maps() -> NDArray[np.float16]:
    return np.zeros((0, 0), np.float16)


@dataclass(frozen=True)
class ImageModel:
    """What was learnt, and on which backbone. `maps` float16 [K, size] are examples of what the tail is given."""

    backbone: str
    head: HeadWeights
    tail: TailWeights | None = None
    maps: NDArray[np.float16] = field(default_factory=_no_maps)

    def to_bytes(self) -> bytes:
        """An .npz file in memory; equal models give equal bytes."""
        target = io.BytesIO()
        meta = {"backbone": self.backbone, "kind": self.head.kind, "is_mirrored": self.head.is_mirrored}
        arrays: dict[str, NDArray[Any]] = {f"head.{name}": array for name, array in self.head.arrays.items()}
        if self.tail is not None:
            meta["place"] = self.tail.place
            arrays["maps"] = self.maps
            for name, layer in self.tail.layers.items():
                arrays |= {f"tail.{name}.kernel": layer.kernel, f"tail.{name}.bias": layer.bias}
        np.savez(target, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]  # numpy's stub sees a flag
        return target.getvalue()


def model_from_bytes(stored: bytes) -> ImageModel:
    """Read what `to_bytes` wrote. Raises ArtefactInvalidError."""
    try:
        with np.load(io.BytesIO(stored), allow_pickle=False) as file:
            meta = json.loads(str(file["meta"]))
            head = HeadWeights(meta["kind"], meta["is_mirrored"], _within(file, "head."))
            if "place" not in meta:
                return ImageModel(meta["backbone"], head)
            tail = TailWeights(meta["backbone"], meta["place"], _layers(_within(file, "tail.")))
            return ImageModel(meta["backbone"], head, tail, file["maps"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        sentence = f"The trained model cannot be read ({error}); train it again."
        raise ArtefactInvalidError("model_damaged", sentence) from error


def _within(file: Any, prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}


def _layers(arrays: dict[str, NDArray[Any]]) -> dict[str, Layer]:
    names = [name.removesuffix(".kernel") for name in arrays if name.endswith(".kernel")]
    return {name: Layer(arrays[f"{name}.kernel"], arrays[f"{name}.bias"]) for name in names}
