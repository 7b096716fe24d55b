"""A trained model travels as bytes."""

import numpy as np
import pytest

from learning.errors import ArtefactInvalidError
from learning.image_classification.head_weights import HEAD_KINDS, HeadKind
from learning.image_classification.model_file import ImageModel, model_from_bytes
from tests.unit.learning.heads import made_head


@pytest.mark.parametrize("kind", HEAD_KINDS)
def test_a_stored_model_computes_the_same(kind: HeadKind) -> None:
    model = ImageModel("efficientnet-lite1", made_head(kind, is_mirrored=True))
    again = model_from_bytes(model.to_bytes())
    x = np.random.default_rng(1).normal(size=(5, 8))
    assert (again.backbone, again.head.kind, again.head.is_mirrored) == ("efficientnet-lite1", kind, True)
    assert np.array_equal(again.head.logits(x), model.head.logits(x))


def test_equal_models_have_equal_bytes() -> None:
    assert len({ImageModel("efficientnet-lite0", made_head("mlp")).to_bytes() for _ in range(2)}) == 1


@pytest.mark.parametrize("stored", [b"", b"junk"])
def test_a_damaged_model_is_refused(stored: bytes) -> None:
    with pytest.raises(ArtefactInvalidError) as caught:
        model_from_bytes(stored)
    assert caught.value.code == "model_damaged"
