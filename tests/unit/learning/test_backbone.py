"""The network sees what ImageNet's networks see, in both precisions."""

import json
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from learning.backbones.calibration import calibration_pictures
from learning.backbones.description import read_backbone
from learning.backbones.efficientnet_lite import pretrained_layers
from learning.errors import ArtefactInvalidError
from learning.image_classification.features import open_session

# photograph in scikit-image -> its ImageNet class
KNOWN = {"chelsea.png": 285, "coffee.png": 967}


def photograph(name: str) -> NDArray[np.uint8]:
    with resources.as_file(resources.files("skimage.data") / name) as path:
        image = Image.open(path).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    box = (left, top, left + side, top + side)
    return np.asarray(image.resize((224, 224), Image.Resampling.BICUBIC, box))


def features(backbone: Path, precision: str, *pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    session = open_session(read_backbone(backbone).path_of(backbone, precision), threads=1)
    return np.asarray(session.run(["features"], {"pictures": np.stack(pictures)})[0])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize(("name", "expected"), KNOWN.items())
def test_known_photographs_are_recognised(backbone: Path, precision: str, name: str, expected: int) -> None:
    classifier = pretrained_layers()["classifier"]
    logits = features(backbone, precision, photograph(name)) @ classifier.kernel.T + classifier.bias
    assert logits.argmax() == expected


def test_int8_features_point_where_the_exact_ones_do(backbone: Path) -> None:
    pictures = [photograph(name) for name in (*KNOWN, "astronaut.png", "rocket.jpg")]
    exact, rough = (features(backbone, precision, *pictures) for precision in ("fp32", "int8"))
    norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(rough, axis=1)
    assert ((exact * rough).sum(axis=1) / norms).min() > 0.93


def test_a_picture_has_the_same_features_in_any_company(backbone: Path) -> None:
    cat, coffee = (photograph(name) for name in KNOWN)
    together = features(backbone, "int8", coffee, cat)[1]
    assert np.allclose(features(backbone, "int8", cat)[0], together, atol=1e-5)


def test_onnx_and_paddle_agree(backbone: Path) -> None:
    import paddle

    from learning.backbones.efficientnet_lite_runner import EfficientNetLite0

    cat = photograph("chelsea.png")
    network = EfficientNetLite0(pretrained_layers())
    ours = network(paddle.to_tensor(cat[np.newaxis])).numpy()
    assert np.allclose(features(backbone, "fp32", cat), ours, atol=2e-3)


def test_a_complete_folder_is_left_alone(backbone: Path) -> None:
    from learning.backbones.build_runner import build_backbone

    before = {path.name: path.stat().st_mtime_ns for path in backbone.iterdir()}
    build_backbone(backbone)
    assert {path.name: path.stat().st_mtime_ns for path in backbone.iterdir()} == before


@pytest.mark.parametrize("fault", ["no description", "changed network", "missing network", "other version"])
def test_a_faulty_folder_is_refused(backbone: Path, tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(backbone, folder)
    description = folder / "backbone.json"
    if fault == "no description":
        description.unlink()
    elif fault == "changed network":
        with (folder / "lite0-int8.onnx").open("ab") as file:
            file.write(b"x")
    elif fault == "missing network":
        (folder / "lite0-int8.onnx").unlink()
    else:
        description.write_text(json.dumps({**json.loads(description.read_text()), "version": 0}))
    with pytest.raises(ArtefactInvalidError) as caught:
        read_backbone(folder)
    assert caught.value.code == "backbone_invalid"


def test_calibration_pictures_are_always_the_same_and_differ_from_each_other() -> None:
    first, again = (list(calibration_pictures(15, 64, seed=0)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert all((first[0] != other).any() for other in first[1:])
