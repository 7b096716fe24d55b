"""The networks see what ImageNet's networks see, in both precisions, and can be cut in two."""

import json
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image

from learning.backbones.calibration import calibration_pictures
from learning.backbones.description import read_backbone
from learning.backbones.efficientnet_lite import VARIANTS, Variant, cuts, pretrained_layers
from learning.backbones.library import backbone_folder, ensure_backbone
from learning.backbones.maps import with_map
from learning.backbones.network_onnx import network
from learning.backbones.quantising import quantise
from learning.errors import ArtefactInvalidError
from learning.image_classification.extraction import open_session

# photograph in scikit-image -> its ImageNet class
KNOWN = {"chelsea.png": 285, "coffee.png": 967}
LITE0 = VARIANTS["efficientnet-lite0"]


@pytest.fixture(scope="module", params=VARIANTS)
def exact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Variant, Path]:
    """A variant and its float32 network."""
    variant = VARIANTS[request.param]
    path = tmp_path_factory.mktemp("networks") / f"{variant.name}.onnx"
    onnx.save(network(variant, pretrained_layers(variant)), str(path))
    return variant, path


def photograph(name: str, side: int) -> NDArray[np.uint8]:
    with resources.as_file(resources.files("skimage.data") / name) as path:
        image = Image.open(path).convert("RGB")
    least = min(image.size)
    left, top = (image.width - least) / 2, (image.height - least) / 2
    box = (left, top, left + least, top + least)
    return np.asarray(image.resize((side, side), Image.Resampling.BICUBIC, box))


def features(path: Path, *pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    session = open_session(path, threads=1)
    return np.asarray(session.run(["features"], {"pictures": np.stack(pictures)})[0])


def seen_in(path: Path, variant: Variant, name: str) -> int:
    """The ImageNet class, by the source's own last layer."""
    classifier = pretrained_layers(variant)["classifier"]
    logits = features(path, photograph(name, variant.resolution)) @ classifier.kernel.T + classifier.bias
    return int(logits.argmax())


@pytest.mark.parametrize("name", KNOWN)
def test_known_photographs_are_recognised(exact: tuple[Variant, Path], name: str) -> None:
    variant, path = exact
    assert seen_in(path, variant, name) == KNOWN[name]


@pytest.mark.parametrize("name", KNOWN)
def test_the_int8_network_recognises_them_too(backbone: Path, name: str) -> None:
    assert seen_in(read_backbone(backbone).path_of(backbone, "int8"), LITE0, name) == KNOWN[name]


@pytest.mark.slow
def test_every_int8_network_recognises_them(exact: tuple[Variant, Path], tmp_path: Path) -> None:
    variant, path = exact
    quantise(path, tmp_path / "int8.onnx", "pictures", calibration_pictures(8, variant.resolution, 0))
    assert {name: seen_in(tmp_path / "int8.onnx", variant, name) for name in KNOWN} == KNOWN


def test_int8_features_point_where_the_exact_ones_do(backbone: Path) -> None:
    pictures = [photograph(name, LITE0.resolution) for name in (*KNOWN, "astronaut.png", "rocket.jpg")]
    described = read_backbone(backbone)
    exact, rough = (features(described.path_of(backbone, precision), *pictures) for precision in ("fp32", "int8"))
    norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(rough, axis=1)
    assert ((exact * rough).sum(axis=1) / norms).min() > 0.93


def test_a_picture_has_the_same_features_in_any_company(backbone: Path) -> None:
    cat, coffee = (photograph(name, LITE0.resolution) for name in KNOWN)
    path = read_backbone(backbone).path_of(backbone, "int8")
    assert np.allclose(features(path, cat)[0], features(path, coffee, cat)[1], atol=1e-5)


def test_onnx_and_paddle_agree(exact: tuple[Variant, Path]) -> None:
    import paddle

    from learning.backbones.efficientnet_lite_runner import EfficientNetLite

    variant, path = exact
    cat = photograph("chelsea.png", variant.resolution)
    ours = EfficientNetLite(variant, pretrained_layers(variant))(paddle.to_tensor(cat[np.newaxis])).numpy()
    assert np.allclose(features(path, cat), ours, atol=2e-3)


def test_each_cut_has_a_map_of_the_size_it_says(exact: tuple[Variant, Path]) -> None:
    variant, path = exact
    cat = photograph("chelsea.png", variant.resolution)[np.newaxis]
    assert list(cuts(variant)) == ["5.1", "6.1", "6.2", "7.1"]
    for cut in cuts(variant).values():
        session = onnxruntime.InferenceSession(with_map(path, cut, "fp32"))
        (found,) = session.run(["map"], {"pictures": cat})
        assert found.shape == (1, cut.channels, cut.side, cut.side)


@pytest.mark.parametrize("place", ["5.1", "6.1", "6.2", "7.1"])
def test_taking_a_map_out_leaves_the_features_as_they_are(backbone: Path, place: str) -> None:
    path = read_backbone(backbone).path_of(backbone, "int8")
    cat = photograph("chelsea.png", LITE0.resolution)
    session = onnxruntime.InferenceSession(with_map(path, cuts(LITE0)[place], "int8"))
    both, found = session.run(["features", "map"], {"pictures": cat[np.newaxis]})
    assert np.array_equal(both, features(path, cat))
    assert found.std() > 0


def test_a_backbone_that_is_there_is_not_built_again(backbones: Path, backbone: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in backbone.iterdir()}
    assert ensure_backbone(backbones, LITE0.name).name == LITE0.name
    assert {path.name: path.stat().st_mtime_ns for path in backbone.iterdir()} == before


def test_an_unknown_backbone_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ArtefactInvalidError, match="efficientnet-lite2") as caught:
        backbone_folder(tmp_path, "../elsewhere")
    assert caught.value.code == "backbone_unknown"


@pytest.mark.parametrize("fault", ["no description", "changed network", "missing network", "other version"])
def test_a_faulty_folder_is_refused(backbone: Path, tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(backbone, folder)
    description = folder / "backbone.json"
    if fault == "no description":
        description.unlink()
    elif fault == "changed network":
        with (folder / "int8.onnx").open("ab") as file:
            file.write(b"x")
    elif fault == "missing network":
        (folder / "int8.onnx").unlink()
    else:
        description.write_text(json.dumps({**json.loads(description.read_text()), "version": 0}))
    with pytest.raises(ArtefactInvalidError) as caught:
        read_backbone(folder)
    assert caught.value.code == "backbone_invalid"


def test_calibration_pictures_are_always_the_same_and_differ_from_each_other() -> None:
    first, again = (list(calibration_pictures(15, 64, seed=0)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert all((first[0] != other).any() for other in first[1:])
