"""A head as arrays."""

import numpy as np

from tests.unit.learning.heads import made_head


def test_a_cosine_head_ignores_the_length_of_features() -> None:
    head = made_head("cosine")
    x = np.random.default_rng(1).normal(size=(5, 8))
    assert np.allclose(head.logits(x), head.logits(x * 10), atol=1e-5)


def test_only_a_mirrored_head_averages_the_second_view() -> None:
    views = np.random.default_rng(1).normal(size=(3, 5, 8))
    plain, mirrored = made_head("linear"), made_head("linear", is_mirrored=True)
    assert np.allclose(plain.logits_of_views(views), plain.logits(views[0]))
    expected = (plain.logits(views[0]) + plain.logits(views[1])) / 2
    assert np.allclose(mirrored.logits_of_views(views), expected, atol=1e-6)
