"""Views and features: deterministic, in order, reused, saved."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from learning.errors import ArtefactInvalidError, SampleRejected
from learning.image_classification.features import ImageFeatures, extract_features, load_features
from learning.image_classification.views import make_view
from learning.task import LabelledSample
from tests.unit.learning.pictures import noise, stored_samples

RECIPE = {"precision": "int8", "views": 3, "seed": 0}
CLASSES = ("blue", "red")


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


def test_features_are_deterministic_in_the_order_of_the_samples(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 3)
    fractions: list[float] = []
    first = extract_features(samples, CLASSES, RECIPE, backbone, fractions.append, None)
    reverse = extract_features(samples[::-1], CLASSES, RECIPE, backbone, lambda _: None, None)
    assert first.values.shape == (3, 6, 1280)
    assert first.shas == tuple(sample.sha for sample in samples)
    assert first.targets.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.array_equal(reverse.subset(first.shas).values, first.values)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_known_features_are_not_computed_again(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 2)
    known = extract_features(samples[:3], CLASSES, RECIPE, backbone, lambda _: None, None)
    marked = dataclasses.replace(known, values=np.full_like(known.values, 7))
    result = extract_features(samples, CLASSES, RECIPE, backbone, lambda _: None, marked)
    assert (result.values[:, :3] == 7).all()
    assert (result.values[:, 3] != 7).any()


def test_features_of_another_recipe_are_not_reused(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 1)
    known = extract_features(samples, CLASSES, {**RECIPE, "seed": 1}, backbone, lambda _: None, None)
    marked = dataclasses.replace(known, values=np.full_like(known.values, 7))
    result = extract_features(samples, CLASSES, RECIPE, backbone, lambda _: None, marked)
    assert not (result.values == 7).all()


def test_everything_known_is_finished_at_once(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 1)
    known = extract_features(samples, CLASSES, RECIPE, backbone, lambda _: None, None)
    fractions: list[float] = []
    extract_features(samples, CLASSES, RECIPE, backbone, fractions.append, known)
    assert fractions == [1.0]


def test_a_file_that_broke_since_names_itself(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 2)
    samples[1].path.write_bytes(samples[1].path.read_bytes()[:60])
    with pytest.raises(SampleRejected, match=samples[1].sha):
        extract_features(samples, CLASSES, RECIPE, backbone, lambda _: None, None)


def test_a_label_outside_the_classes_is_refused_before_the_work(backbone: Path, tmp_path: Path) -> None:
    sample = LabelledSample("ab" * 32, tmp_path / "not there", ("green",))
    with pytest.raises(ArtefactInvalidError, match="green"):
        extract_features([sample], CLASSES, RECIPE, backbone, lambda _: None, None)


def made(count: int, seed: int = 0) -> ImageFeatures:
    random = np.random.default_rng(seed)
    shas = tuple(f"{seed}{i:063x}" for i in range(count))
    values = random.normal(size=(2, count, 4)).astype(np.float16)
    return ImageFeatures(values, np.arange(count) % 2, shas, CLASSES, {"views": 2})


def test_saved_features_come_back(tmp_path: Path) -> None:
    features = made(5)
    features.save(tmp_path / "any.name")
    again = load_features(tmp_path / "any.name")
    assert np.array_equal(again.values, features.values)
    assert (again.shas, again.class_ids, again.recipe) == (features.shas, features.class_ids, features.recipe)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no more"])
def test_damaged_feature_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ArtefactInvalidError):
        load_features(tmp_path / "f")


def test_subset_follows_the_order_asked_for_and_skips_strangers() -> None:
    features = made(5)
    chosen = features.subset([features.shas[3], "stranger", features.shas[0]])
    assert chosen.shas == (features.shas[3], features.shas[0])
    assert np.array_equal(chosen.values, features.values[:, [3, 0]])
    assert chosen.targets.tolist() == [1, 0]


def test_sets_of_different_recipes_do_not_mix() -> None:
    joined = made(2).joined(made(3, seed=1))
    assert joined.values.shape == (2, 5, 4)
    with pytest.raises(ArtefactInvalidError):
        made(2).joined(dataclasses.replace(made(3), recipe={"views": 9}))
