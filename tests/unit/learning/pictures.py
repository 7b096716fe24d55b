"""Pictures made for tests."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from learning.task import LabelledSample


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    """Smooth colour noise, so that JPEG keeps it about as it is."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 255, (6, 6, 3), np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BILINEAR)


def encoded(image: Image.Image, image_format: str, **options: Any) -> bytes:
    """The picture as a file's bytes."""
    target = io.BytesIO()
    image.save(target, image_format, **options)
    return target.getvalue()


def decoded(raw: bytes) -> Image.Image:
    """The picture in a file's bytes."""
    image = Image.open(io.BytesIO(raw))
    image.load()
    return image


def reddish_or_bluish(class_id: str, seed: int) -> Image.Image:
    """Pictures of two classes that any head tells apart."""
    pixels = np.asarray(noise(48, 40, seed), np.float32) * 0.3
    pixels[..., 0 if class_id == "red" else 2] += 170
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def stored_samples(folder: Path, per_class: int) -> list[LabelledSample]:
    """`per_class` pictures each of the classes blue and red, as files."""
    samples = []
    for class_id in ("blue", "red"):
        for seed in range(per_class):
            raw = encoded(reddish_or_bluish(class_id, seed), "PNG")
            sha = hashlib.sha256(raw).hexdigest()
            (folder / sha).write_bytes(raw)
            samples.append(LabelledSample(sha, folder / sha, (class_id,)))
    return samples
