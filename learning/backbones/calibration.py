"""Pictures that show a network the range of what it will see, the same for every data set.

They are random crops of the photographs that the scikit-image package carries, so an int8 backbone is
one and the same for all users and its features can be cached by content.
"""

from collections.abc import Iterator
from importlib import resources

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# Natural photographs and textures only: drawings and instrument images would stretch the ranges.
PHOTOGRAPHS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "chelsea.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
    "hubble_deep_field.jpg",
    "ihc.png",
    "motorcycle_left.png",
    "retina.jpg",
    "rocket.jpg",
)


def calibration_pictures(count: int, resolution: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """`count` pictures, uint8 [resolution, resolution, 3], photographs in turn. Deterministic."""
    random = np.random.default_rng(seed)
    photographs = [_open(name) for name in PHOTOGRAPHS]
    for index in range(count):
        photograph = photographs[index % len(photographs)]
        yield _random_crop(photograph, resolution, random)


def _open(name: str) -> Image.Image:
    with resources.as_file(resources.files("skimage.data") / name) as path, Image.open(path) as image:
        return image.convert("RGB")


def _random_crop(image: Image.Image, resolution: int, random: np.random.Generator) -> NDArray[np.uint8]:
    side = min(image.size) * random.uniform(0.35, 1.0)
    left, top = random.uniform(0, image.width - side), random.uniform(0, image.height - side)
    box = (left, top, left + side, top + side)
    crop = np.asarray(image.resize((resolution, resolution), Image.Resampling.BILINEAR, box), np.float32)
    if random.random() < 0.5:
        crop = crop[:, ::-1]
    gain, shift = random.uniform(0.7, 1.3), random.uniform(-30, 30)
    mean = crop.mean()
    return np.asarray(np.clip((crop - mean) * gain + mean + shift, 0, 255), np.uint8)
