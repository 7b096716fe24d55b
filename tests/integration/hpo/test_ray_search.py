"""A small study by Ray itself, over made-up features, with the image plug-in's heads."""

from pathlib import Path

import numpy as np
import pytest

from learning.image_classification.features import ImageFeatures
from learning.task import StudyPlan
from services.hpo.ray_runner import RaySearch, tune_space
from services.hpo.search import TrialOutcome, choose_winner

CLASSES = ("cls_a", "cls_b", "cls_c")
EPOCHS = 6


def made_up(count: int, seed: int) -> ImageFeatures:
    """Three clouds of points, far enough apart for any head."""
    random = np.random.default_rng(seed)
    targets = np.arange(count, dtype=np.int64) % len(CLASSES)
    centres = np.random.default_rng(0).normal(0, 1, (len(CLASSES), 16))
    values = (centres[targets] + random.normal(0, 0.4, (1, count, 16))).astype(np.float16)
    return ImageFeatures(values, targets, tuple(f"{seed}-{row}" for row in range(count)), CLASSES, {})


def a_plan() -> StudyPlan:
    """One candidate that cannot be trained, one given, two drawn."""
    starts = ({"head": "no_such_head", "rate_factor": 1.0}, {"head": "linear", "rate_factor": 1.0})
    space = {"head": {"choice": ["linear", "cosine"]}, "rate_factor": {"loguniform": [0.5, 2.0]}, "smoothing": 0.0}
    return StudyPlan("image_classification", "fast", 3, {}, space, starts, 4, EPOCHS, 2, 2, 1.0)


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaySearch:
    monkeypatch.setenv("RAY_TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    return RaySearch(address=None, scratch_dir=tmp_path / "scratch")


def test_good_candidates_are_found_although_one_fails(search: RaySearch, tmp_path: Path) -> None:
    told: list[TrialOutcome] = []
    try:
        outcomes = search.run(a_plan(), made_up(240, 1), made_up(90, 2), 60, lambda trial, ended: told.append(trial))
    finally:
        search.close()
    assert len(outcomes) == 3
    assert {trial.number for trial in told} == {trial.number for trial in outcomes}
    assert all(trial.candidate["head"] in ("linear", "cosine") for trial in outcomes)
    assert all(0.5 <= trial.candidate["rate_factor"] <= 2.0 for trial in outcomes)
    winner = choose_winner(outcomes)
    assert winner is not None
    assert winner.accuracy > 0.9
    assert winner.epoch == EPOCHS
    assert list((tmp_path / "scratch").iterdir()) == []


def test_every_kind_of_parameter_has_its_counterpart() -> None:
    space = tune_space(
        {"a": {"choice": [1, 2]}, "b": {"uniform": [0.0, 1.0]}, "c": {"loguniform": [0.1, 1.0]}, "d": {"x": 1}}
    )
    draws = [(space["a"].sample(), space["b"].sample(), space["c"].sample()) for _ in range(50)]
    assert {a for a, _, _ in draws} == {1, 2}
    assert all(0 <= b < 1 and 0.1 <= c < 1 for _, b, c in draws)
    assert space["d"] == {"x": 1}
