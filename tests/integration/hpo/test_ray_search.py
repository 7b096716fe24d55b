"""A small study by Ray itself, over made-up features, with the image plug-in's heads."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from learning.image_classification.features import ImageFeatures
from learning.study import Stage, StageResult, TrialOutcome, choose
from services.hpo.ray_runner import EndOfTime, RaySearch, resources_of
from services.hpo.search import StageOrder

CLASSES = ("cls_a", "cls_b", "cls_c")
EPOCHS = 6


def made_up(count: int, seed: int) -> ImageFeatures:
    """Three clouds of points, far enough apart for any head."""
    random = np.random.default_rng(seed)
    targets = np.arange(count, dtype=np.int64) % len(CLASSES)
    centres = np.random.default_rng(0).normal(0, 1, (len(CLASSES), 16))
    values = (centres[targets] + random.normal(0, 0.4, (1, count, 16))).astype(np.float16)
    return ImageFeatures(values, targets, tuple(f"{seed}-{row}" for row in range(count)), CLASSES, {})


def an_order(needs_finalist: bool = True, limit_s: float = 60) -> StageOrder:
    """One candidate that cannot be trained, three that can."""
    judging = {"folds": 4, "judged_folds": 2}
    candidates = tuple({"head": head, **judging} for head in ("no_such_head", "linear", "cosine", "linear"))
    stage = Stage("heads", "A test.", {}, candidates, EPOCHS, 2, 2, 1, 1.0)
    return StageOrder("image_classification", stage, dict(enumerate(candidates)), 3, limit_s, needs_finalist)


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaySearch:
    monkeypatch.setenv("RAY_TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    return RaySearch(address=None, scratch_dir=tmp_path / "scratch")


def test_good_candidates_are_found_although_one_fails(search: RaySearch, tmp_path: Path) -> None:
    told: list[TrialOutcome] = []
    try:
        outcomes = search.run(an_order(), made_up(240, 1), lambda trial, ended: told.append(trial))
    finally:
        search.close()
    assert [trial.number for trial in outcomes] == [1, 2, 3]
    assert {trial.number for trial in told} == {1, 2, 3}
    assert all(trial.candidate == an_order().candidates[trial.number] for trial in outcomes)
    choice = choose([StageResult(an_order().stage, tuple(outcomes))])
    assert choice is not None
    assert choice.outcome.accuracy > 0.9
    assert choice.outcome.epoch == EPOCHS
    assert 100 <= choice.outcome.judged <= 140
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_study_with_a_finalist_ends_when_its_time_is_over() -> None:
    assert EndOfTime(an_order(needs_finalist=False, limit_s=-1)).stop_all()
    late = EndOfTime(an_order(needs_finalist=True, limit_s=-1))
    assert not late.stop_all()
    late("trial", {"epoch": EPOCHS})
    assert late.stop_all()


@pytest.mark.parametrize(
    ("threads", "cluster", "wanted"),
    [
        (1, {"CPU": 2.0}, {"cpu": 1}),
        (2, {"CPU": 2.0}, {"cpu": 2}),
        (1, {"CPU": 4.0, "GPU": 1.0}, {"cpu": 1, "gpu": 0.25}),
        (4, {"CPU": 4.0, "GPU": 1.0}, {"cpu": 4, "gpu": 1.0}),
        (1, {"CPU": 2.0, "GPU": 8.0}, {"cpu": 1, "gpu": 1.0}),
    ],
)
def test_trials_share_the_gpus_that_are_there(
    threads: int, cluster: dict[str, float], wanted: dict[str, float]
) -> None:
    stage = dataclasses.replace(an_order().stage, threads=threads)
    assert resources_of(stage, cluster) == wanted
