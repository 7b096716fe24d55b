"""Views: the variants of a picture that the network sees while features are computed.

View 0 is the picture as predicted on, view 1 its mirror image, further ones are random crops with changed
brightness and contrast. Odd views are mirrored, even ones never, so that a training may leave mirrored pictures
out where left and right mean something. A view depends on (sample, view index, seed) only, so features
can be computed in any order, by any number of threads, and again.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

AUGMENTATION = 2  # the version of these rules; part of the recipe, so that features of old rules are not reused
MARGIN = 1.15  # a picture is kept this much larger than the network's input, for the crops
_AREA = (0.5, 1.0)  # of a crop
_ASPECT = (3 / 4, 4 / 3)
_CONTRAST = (0.8, 1.2)
_BRIGHTNESS = 25.0  # grey levels up or down


def decoded_side(resolution: int) -> int:
    """The side, in pixels, of the square picture that views are cut from."""
    return int(resolution * MARGIN)


def make_view(square: Image.Image, resolution: int, sha: str, index: int, seed: int) -> NDArray[np.uint8]:
    """View `index` of a square RGB picture as uint8 [resolution, resolution, 3]. Deterministic."""
    if index < 2:
        return _mirrored_if_odd(np.asarray(square.resize((resolution, resolution), Image.Resampling.BILINEAR)), index)
    random = np.random.default_rng([seed, index, int(sha[:16], 16)])
    box = _random_box(square.width, random)
    crop = np.asarray(square.resize((resolution, resolution), Image.Resampling.BILINEAR, box), np.float32)
    return _mirrored_if_odd(_change_light(crop, random), index)


def _mirrored_if_odd(picture: NDArray[np.uint8], index: int) -> NDArray[np.uint8]:
    return picture[:, ::-1] if index % 2 else picture


def _random_box(side: int, random: np.random.Generator) -> tuple[float, float, float, float]:
    area = random.uniform(*_AREA) * side * side
    aspect = float(np.exp(random.uniform(*np.log(_ASPECT))))
    width, height = min(side, (area * aspect) ** 0.5), min(side, (area / aspect) ** 0.5)
    left, top = random.uniform(0, side - width), random.uniform(0, side - height)
    return left, top, left + width, top + height


def _change_light(crop: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.uint8]:
    gain, shift = random.uniform(*_CONTRAST), random.uniform(-_BRIGHTNESS, _BRIGHTNESS)
    mean = crop.mean()
    return np.asarray(np.clip((crop - mean) * gain + mean + shift, 0, 255), np.uint8)
