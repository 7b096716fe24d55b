"""A head as arrays."""

import numpy as np
import pytest

from learning.errors import ArtefactInvalidError
from learning.image_classification.head_weights import HEAD_KINDS, HeadKind, HeadWeights, head_from_bytes
from tests.unit.learning.heads import made_head


@pytest.mark.parametrize("kind", HEAD_KINDS)
def test_a_stored_head_computes_the_same(kind: HeadKind) -> None:
    head = made_head(kind, is_mirrored=True)
    again = head_from_bytes(head.to_bytes())
    x = np.random.default_rng(1).normal(size=(5, 8))
    assert (again.kind, again.is_mirrored) == (kind, True)
    assert np.array_equal(again.logits(x), head.logits(x))


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


@pytest.mark.parametrize("stored", [b"", b"junk", HeadWeights("linear", False, {}).to_bytes()])
def test_a_damaged_head_is_refused(stored: bytes) -> None:
    with pytest.raises(ArtefactInvalidError) as caught:
        head_from_bytes(stored)
    assert caught.value.code == "head_damaged"
