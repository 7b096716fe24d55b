"""A data set of real photographs that a package ships: brick, grass and gravel, from scikit-image.

Each picture is 512 x 512. Training crops come from its left part, held-out crops from the right: nothing in common.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image
from skimage import data

SURFACES = ("brick", "grass", "gravel")
CROP_PX = 128
BORDER_PX = 352
TRAINING_CROPS = 120
HELD_OUT_CROPS = 40

Picture = NDArray[np.uint8]


def write_archives(folder: Path) -> tuple[Path, Path]:
    """`surfaces.zip` to train on and `held-out.zip` to ask about, a folder per class; made once, always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    training, held_out = folder / "surfaces.zip", folder / "held-out.zip"
    _write(training, slice(0, BORDER_PX), TRAINING_CROPS, seed=0)
    _write(held_out, slice(BORDER_PX, None), HELD_OUT_CROPS, seed=1)
    return training, held_out


def _write(archive: Path, columns: slice, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    partial = archive.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as packed:
        for surface in SURFACES:
            picture: Picture = getattr(data, surface)()[:, columns]
            for number, crop in enumerate(_crops(picture, count, rng)):
                # A fixed date keeps the archive the same to the byte.
                packed.writestr(zipfile.ZipInfo(f"{surface}/{number:03}.png"), _png(crop))
    partial.replace(archive)


def _crops(picture: Picture, count: int, rng: Generator) -> Iterator[Picture]:
    height, width = picture.shape
    for _ in range(count):
        top, left = int(rng.integers(height - CROP_PX + 1)), int(rng.integers(width - CROP_PX + 1))
        yield picture[top : top + CROP_PX, left : left + CROP_PX]


def _png(crop: Picture) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(crop).save(buffer, "PNG")
    return buffer.getvalue()
