"""Test pictures beside those that were trained on: what is like what, and what that says of the figures."""

from pathlib import Path

import numpy as np
import pytest

from learning.errors import ArtefactInvalidError
from learning.image_classification.evaluation import evaluate_classification
from learning.image_classification.evidence import nearest, read_evidence, write_evidence
from learning.image_classification.features import ImageFeatures
from learning.study import Json
from learning.task import ClassInfo, Comparison, Prediction, Score, Truth
from tests.unit.learning.maps import PLACE, made_maps

CLASSES = ("a", "b", "c")
INFOS = [ClassInfo(each, each.upper()) for each in CLASSES]


def clouds(per_class: int, noise: float = 0.3, seed: int = 0) -> ImageFeatures:
    """Pictures as features, classes in turn."""
    random = np.random.default_rng(seed)
    targets = np.arange(per_class * 3) % 3
    centres = np.random.default_rng(9).normal(size=(3, 16))
    values = (centres[targets] + noise * random.normal(size=(len(targets), 16)))[np.newaxis].astype(np.float16)
    return ImageFeatures(values, targets, tuple(f"t{row}" for row in range(len(targets))), CLASSES, {})


def a_report(tmp_path: Path, trained: ImageFeatures, vectors: np.ndarray, truth: str, leaks: tuple[str, ...]) -> Json:
    """Of test pictures that are all called "a" with certainty."""
    path = tmp_path / "evidence"
    write_evidence(trained, {"head": "mlp"}, path)
    sure = Prediction((Score("a", "A", 0.9), Score("b", "B", 0.06), Score("c", "C", 0.04)))
    truths = [Truth(f"s{row}", (truth,)) for row in range(len(vectors))]
    comparison = Comparison(vectors.astype(np.float32), path, leaks)
    return evaluate_classification(INFOS, truths, [sure] * len(vectors), 0.5, comparison)


def test_bad_cases_come_with_the_training_pictures_they_look_like(tmp_path: Path) -> None:
    trained = clouds(20)
    report = a_report(tmp_path, trained, trained.values[0][[4, 7]], "b", ())
    (first, second) = report["worst_cases"]
    assert {each["nearest"][0]["sha"] for each in (first, second)} == {"t4", "t7"}
    assert first["nearest"][0]["label"] == "b"
    assert first["nearest"][0]["likeness"] == pytest.approx(1, abs=1e-2)
    assert len(first["nearest"]) == 3


def test_a_test_set_of_twins_is_told_to_prove_little(tmp_path: Path) -> None:
    trained = clouds(40)
    report = a_report(tmp_path, trained, trained.values[0][:60:3], "a", ("s0", "s1"))
    codes = {each["code"]: each["sentence"] for each in report["findings"]}
    assert report["look_alikes"]["share"] == 1
    assert "100% of the test pictures" in codes["test_looks_like_training"]
    assert report["leaks"] == ["s0", "s1"]
    assert codes["leaked_samples"].startswith("2 test pictures")


def test_new_pictures_are_no_twins(tmp_path: Path) -> None:
    vectors = np.random.default_rng(5).normal(size=(30, 16))
    report = a_report(tmp_path, clouds(40), vectors, "a", ())
    assert report["look_alikes"]["count"] == 0
    assert "leaked_samples" not in {each["code"] for each in report["findings"]}


def test_labels_that_their_look_alikes_contradict_are_named_with_a_remedy(tmp_path: Path) -> None:
    trained = clouds(40)
    wrong = trained.targets.copy()
    wrong[11] = (wrong[11] + 1) % 3
    mislabelled = ImageFeatures(trained.values, wrong, trained.shas, CLASSES, {})
    report = a_report(tmp_path, mislabelled, trained.values[0][:3], "a", ())
    assert [each["sha"] for each in report["label_suspects"]] == ["t11"]
    (finding,) = [each for each in report["findings"] if each["code"] == "label_suspects"]
    assert "correct the labels" in finding["remedy"]


def test_evidence_of_a_tail_compares_the_maps_it_starts_from(tmp_path: Path) -> None:
    trained = made_maps(tmp_path, per_class=4)
    write_evidence(trained, {"tail": PLACE}, tmp_path / "evidence")
    evidence = read_evidence(tmp_path / "evidence")
    assert (evidence.kind, evidence.vectors.shape) == ("map", (12, 192))
    rows, likeness = nearest(evidence, evidence.vectors.astype(np.float32), 2)
    assert rows[:, 0].tolist() == list(range(12))
    assert np.all(likeness[:, 0] >= likeness[:, 1])


def test_damaged_evidence_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_bytes(b"junk")
    with pytest.raises(ArtefactInvalidError, match="start a new run"):
        read_evidence(tmp_path / "evidence")
