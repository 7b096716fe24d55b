"""Samples tell of wrong labels among them, and of what more of them would bring."""

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.image_classification.diagnosis import diagnose, expected_error

CLASSES = ("a", "b", "c")


def clouds(count: int, noise: float, seed: int = 0) -> tuple[NDArray[np.float16], NDArray[np.int64], list[str]]:
    random = np.random.default_rng(seed)
    targets = np.arange(count) % 3
    centres = np.random.default_rng(9).normal(size=(3, 24))
    return (
        (centres[targets] + noise * random.normal(size=(count, 24))).astype(np.float16),
        targets,
        [f"s{i}" for i in range(count)],
    )


def test_wrong_labels_are_found_and_right_ones_left_alone() -> None:
    features, targets, shas = clouds(300, 0.4)
    wrong = targets.copy()
    wrong[[7, 100, 222]] = (wrong[[7, 100, 222]] + 1) % 3
    suspects = diagnose(features, wrong, shas, CLASSES)["suspects"]
    assert {each["sha"] for each in suspects} == {"s7", "s100", "s222"}
    assert {(each["label"], each["looks_like"]) for each in suspects} == {
        (CLASSES[wrong[row]], CLASSES[targets[row]]) for row in (7, 100, 222)
    }


def test_the_curve_falls_where_more_samples_help() -> None:
    curve = diagnose(*clouds(240, 2.5), CLASSES)["learning_curve"]
    assert [point["samples"] for point in curve] == [45, 90, 180]
    assert curve[0]["error"] > curve[-1]["error"] > 0


def test_more_data_are_expected_to_help_as_much_as_they_did() -> None:
    curve = [{"samples": 100, "error": 0.4}, {"samples": 200, "error": 0.2}, {"samples": 400, "error": 0.1}]
    assert expected_error(0.06, curve, 2.0) == pytest.approx(0.03)
    rising = [{"samples": 100, "error": 0.1}, {"samples": 200, "error": 0.2}]
    assert expected_error(0.06, rising, 2.0) == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("error", "curve"),
    [(0.1, []), (0.1, [{"samples": 100, "error": 0.0}, {"samples": 200, "error": 0.1}]), (0.0, [])],
)
def test_what_cannot_be_told_is_not_told(error: float, curve: list[dict[str, float]]) -> None:
    assert expected_error(error, curve, 2.0) is None


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_few_samples_are_no_hindrance(count: int) -> None:
    diagnosis = diagnose(*clouds(count, 0.5), CLASSES)
    assert diagnosis["suspects"] == [] or count > 2


def test_a_single_class_tells_nothing() -> None:
    features, targets, shas = clouds(30, 0.5)
    assert diagnose(features, targets * 0, shas, CLASSES) == {"suspects": [], "learning_curve": []}
