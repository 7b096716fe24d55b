"""Weight files are pickles, so what they may ask for is limited."""

import os
import pickle
from pathlib import Path

import pytest

from learning.backbones.efficientnet_lite import VARIANTS, Variant, block_shapes, pretrained_layers
from learning.backbones.torch_legacy import read_weights
from learning.errors import ArtefactInvalidError


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/never",)


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.pth"
    path.write_bytes(pickle.dumps(_Evil()))
    with pytest.raises(ArtefactInvalidError, match="system") as caught:
        read_weights(path)
    assert caught.value.code == "weights_unsafe"


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps(1) * 3])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.pth").write_bytes(content)
    with pytest.raises(ArtefactInvalidError) as caught:
        read_weights(tmp_path / "w.pth")
    assert caught.value.code == "weights_damaged"


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_pretrained_layers_fit_the_blocks(variant: Variant) -> None:
    layers = pretrained_layers(variant)
    for index, shape in enumerate(block_shapes(variant)):
        hidden = shape.hidden
        assert layers[f"blocks.{index}.depthwise"].kernel.shape == (hidden, 1, shape.kernel, shape.kernel)
        assert layers[f"blocks.{index}.project"].kernel.shape == (shape.channels_out, hidden, 1, 1)
        assert (f"blocks.{index}.expand" in layers) == (shape.expansion > 1)
    assert layers["classifier"].kernel.shape == (1000, 1280)
