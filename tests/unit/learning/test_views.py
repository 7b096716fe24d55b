"""What the network sees of a picture."""

import numpy as np
from PIL import Image

from learning.image_classification.views import make_view
from tests.unit.learning.pictures import noise


def test_views_depend_on_sample_index_and_seed_only() -> None:
    square = noise(100, 100)
    crop = make_view(square, 64, "ab" * 32, 2, seed=0)
    assert crop.shape == (64, 64, 3)
    assert (crop == make_view(square, 64, "ab" * 32, 2, seed=0)).all()
    for other in (("cd" * 32, 2, 0), ("ab" * 32, 4, 0), ("ab" * 32, 2, 1)):
        assert (crop != make_view(square, 64, *other)).any()


def test_only_odd_views_are_mirrored() -> None:
    left_bright = np.zeros((80, 80, 3), np.uint8)
    left_bright[:, :40] = 200
    square = Image.fromarray(left_bright)
    for index in range(12):
        view = make_view(square, 64, "ab" * 32, index, seed=0).astype(float)
        assert (view[:, :8].mean() > view[:, -8:].mean()) == (index % 2 == 0)
