"""Features and maps: deterministic, in order, in shards that are found again."""

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from learning.errors import ArtefactInvalidError, SampleRejected
from learning.image_classification.extraction import extract_features
from learning.image_classification.features import ImageFeatures, load_features
from learning.image_classification.shards import ShardHeader, map_rows, read_header, write_shard
from learning.study import Json
from learning.task import LabelledSample
from tests.unit.learning.pictures import stored_samples

RECIPE: Json = {"precision": "int8", "views": 3, "seed": 0, "maps": None}
WITH_MAPS: Json = {**RECIPE, "maps": "7.1"}
CLASSES = ("blue", "red")


def labels_of(samples: Sequence[LabelledSample]) -> dict[str, tuple[str, ...]]:
    return {sample.sha: sample.labels for sample in samples}


def computed(samples: Sequence[LabelledSample], recipe: Json, backbone: Path, out: Path) -> ImageFeatures:
    out.mkdir(exist_ok=True)
    shards = list(extract_features(samples, recipe, backbone, lambda _: None, out))
    return load_features(shards, labels_of(samples), CLASSES, recipe)


def test_features_are_deterministic_in_the_order_of_the_samples(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 3)
    first = computed(samples, RECIPE, backbone, tmp_path / "first")
    reverse = computed(samples[::-1], RECIPE, backbone, tmp_path / "reverse")
    assert first.values.shape == (3, 6, 1280)
    assert first.shas == tuple(sample.sha for sample in samples)
    assert first.targets.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.array_equal(reverse.subset(first.shas).values, first.values)


def test_maps_are_those_that_the_features_come_from(backbone: Path, tmp_path: Path) -> None:
    import paddle

    from learning.image_classification.tail_matrix_runner import MatrixTail
    from learning.image_classification.tail_weights import pretrained_tail

    features = computed(stored_samples(tmp_path, 2), WITH_MAPS, backbone, tmp_path / "out")
    assert features.maps is not None
    maps = features.maps.batch(np.array([0, 3]), np.array([0, 2]))
    tail = MatrixTail(pretrained_tail("efficientnet-lite0", "7.1"))
    found, wanted = tail(paddle.to_tensor(maps)).numpy(), features.values[[0, 2], [0, 3]].astype(np.float32)
    likeness = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    assert likeness.min() > 0.98  # the backbone computes in int8, the tail here in float32


def test_shards_are_finished_one_after_the_other(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 5)
    fractions: list[float] = []
    shards = extract_features(samples, RECIPE, backbone, fractions.append, tmp_path, most=4)
    first = next(shards)
    assert read_header(first)[0].shas == tuple(sample.sha for sample in samples[:4])
    assert fractions[-1] == 0.4
    assert len([first, *shards]) == 3
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_shards_of_several_times_make_one_set(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 3)
    whole = computed(samples, WITH_MAPS, backbone, tmp_path / "whole")
    parts = [
        shard
        for number, part in enumerate((samples[4:], samples[:4]))
        for shard in _into(tmp_path / str(number), part, backbone)
    ]
    joined = load_features(parts, labels_of(samples), CLASSES, WITH_MAPS)
    assert joined.shas == whole.shas
    assert np.array_equal(joined.values, whole.values)
    assert joined.maps is not None
    assert whole.maps is not None
    rows, views = np.arange(6), np.array([0, 1, 2, 0, 1, 2])
    assert np.array_equal(joined.maps.batch(rows, views), whole.maps.batch(rows, views))


def _into(folder: Path, samples: Sequence[LabelledSample], backbone: Path) -> Iterator[Path]:
    folder.mkdir()
    return extract_features(samples, WITH_MAPS, backbone, lambda _: None, folder)


def test_nothing_to_compute_is_finished_at_once(backbone: Path, tmp_path: Path) -> None:
    fractions: list[float] = []
    assert list(extract_features([], RECIPE, backbone, fractions.append, tmp_path)) == []
    assert fractions == [1.0]


def test_a_file_that_broke_since_names_itself(backbone: Path, tmp_path: Path) -> None:
    samples = stored_samples(tmp_path, 2)
    samples[1].path.write_bytes(samples[1].path.read_bytes()[:60])
    with pytest.raises(SampleRejected, match=samples[1].sha):
        list(extract_features(samples, RECIPE, backbone, lambda _: None, tmp_path))


def a_shard(path: Path, count: int = 5, map_size: int = 0, recipe: Json = RECIPE, seed: int = 0) -> ImageFeatures:
    """A written shard of made-up numbers, read again; labels blue and red in turn."""
    header = ShardHeader(recipe, tuple(f"{seed}{i:063x}" for i in range(count)), 2, 4, map_size)
    rows = np.random.default_rng(seed).normal(size=header.shape).astype(np.float16)
    write_shard(path, header, iter(rows))
    labels = {sha: (CLASSES[i % 2],) for i, sha in enumerate(header.shas)}
    return load_features([path], labels, CLASSES, recipe)


def test_written_numbers_come_back(tmp_path: Path) -> None:
    features = a_shard(tmp_path / "any.name", map_size=6)
    numbers = np.random.default_rng(0).normal(size=(5, 2, 10)).astype(np.float16)
    assert np.array_equal(map_rows(tmp_path / "any.name"), numbers)
    assert np.array_equal(features.values, numbers[:, :, :4].transpose(1, 0, 2))
    assert features.maps is not None
    assert np.array_equal(features.maps.batch(np.array([3]), np.array([1]))[0], numbers[3, 1, 4:].astype(np.float32))


def test_only_labelled_samples_are_loaded_in_the_order_of_the_labels(tmp_path: Path) -> None:
    shas = a_shard(tmp_path / "f").shas
    labels = {shas[4]: ("red",), "stranger": ("red",), shas[1]: ("blue",)}
    features = load_features([tmp_path / "f"], labels, CLASSES, RECIPE)
    assert features.shas == (shas[4], shas[1])
    assert features.targets.tolist() == [1, 0]


def test_no_shards_are_an_empty_set() -> None:
    assert load_features([], {"a": ("red",)}, CLASSES, RECIPE).shas == ()


def test_a_set_travels_to_other_processes_without_its_maps_in_it(tmp_path: Path) -> None:
    features = a_shard(tmp_path / "f", count=200, map_size=1000)
    assert features.maps is not None
    before = features.maps.batch(np.arange(3), np.ones(3, np.int64))
    travelled = pickle.dumps(features)
    assert len(travelled) < 60_000
    again = pickle.loads(travelled)  # noqa: S301 - our own bytes, of two lines above
    assert np.array_equal(again.maps.batch(np.arange(3), np.ones(3, np.int64)), before)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no more", b'{"format": "another"}\n', b"[]\n"])
def test_damaged_feature_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ArtefactInvalidError) as caught:
        load_features([tmp_path / "f"], {}, CLASSES, RECIPE)
    assert caught.value.code == "features_damaged"


def test_a_shard_that_breaks_off_is_refused(tmp_path: Path) -> None:
    a_shard(tmp_path / "f")
    (tmp_path / "f").write_bytes((tmp_path / "f").read_bytes()[:-2])
    with pytest.raises(ArtefactInvalidError, match="compute the features again"):
        load_features([tmp_path / "f"], {}, CLASSES, RECIPE)


def test_shards_of_other_recipes_are_refused(tmp_path: Path) -> None:
    a_shard(tmp_path / "a")
    a_shard(tmp_path / "b", recipe={**RECIPE, "seed": 9}, seed=1)
    for shards, recipe in ((["a", "b"], RECIPE), (["b"], RECIPE)):
        with pytest.raises(ArtefactInvalidError) as caught:
            load_features([tmp_path / name for name in shards], {}, CLASSES, recipe)
        assert caught.value.code == "features_differ"


def test_a_label_outside_the_classes_is_refused(tmp_path: Path) -> None:
    shas = a_shard(tmp_path / "f").shas
    with pytest.raises(ArtefactInvalidError, match="green"):
        load_features([tmp_path / "f"], {shas[0]: ("green",)}, CLASSES, RECIPE)


def test_subset_follows_the_order_asked_for_and_skips_strangers(tmp_path: Path) -> None:
    features = a_shard(tmp_path / "f", map_size=3)
    chosen = features.subset([features.shas[3], "stranger", features.shas[0]])
    assert chosen.shas == (features.shas[3], features.shas[0])
    assert np.array_equal(chosen.values, features.values[:, [3, 0]])
    assert chosen.targets.tolist() == [1, 0]
    assert chosen.maps is not None
    assert features.maps is not None
    both = chosen.maps.batch(np.array([1]), np.array([0])), features.maps.batch(np.array([0]), np.array([0]))
    assert np.array_equal(*both)


def test_the_header_is_whole_pages_of_json(tmp_path: Path) -> None:
    a_shard(tmp_path / "f", count=300)
    header, offset = read_header(tmp_path / "f")
    assert offset % 4096 == 0
    assert json.loads((tmp_path / "f").read_bytes()[:offset])["shas"] == list(header.shas)
