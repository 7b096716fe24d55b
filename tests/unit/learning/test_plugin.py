"""The whole way with few pictures, and what the plug-in costs those who only predict."""

import subprocess
import sys
from pathlib import Path

import pytest

from learning.backbones.description import DEFAULT_BACKBONE
from learning.errors import TaskUnknownError
from learning.image_classification.plugin import ImageClassification
from learning.registry import get_task, task_names
from learning.study import Candidate, Stage, StudyState
from learning.task import ClassInfo, Predictor, TaskPlugin, Truth
from tests.unit.learning.pictures import encoded, reddish_or_bluish, stored_samples

CLASSES = [ClassInfo("blue", "Blue"), ClassInfo("red", "Red")]


def modelled(
    task: TaskPlugin, stage: Stage, candidate: Candidate, backbones: Path, folder: Path, per_class: int
) -> Predictor:
    """A candidate judged, fitted and exported on a few pictures."""
    samples = stored_samples(folder, per_class)
    labels = {sample.sha: sample.labels for sample in samples}
    task.prepare(stage.recipe, backbones)
    shards = list(task.features(samples, stage.recipe, backbones, lambda _: None, folder))
    features = task.load_features(shards, labels, ["blue", "red"], stage.recipe)
    *_, report = task.train_trial(candidate, stage.epochs, 0, features)
    *_, last = task.fit(candidate, stage.epochs, 0, features, None)
    task.export(last.model, CLASSES, report.calibration, backbones, folder / "bundle")
    return task.load_predictor(folder / "bundle")


def judged(task: TaskPlugin, predictor: Predictor) -> float:
    truths = [Truth(f"{name}{seed}", (name,)) for name in ("blue", "red") for seed in range(50, 55)]
    contents = [encoded(reddish_or_bluish(name, seed), "PNG") for name in ("blue", "red") for seed in range(50, 55)]
    return float(task.evaluate(CLASSES, truths, predictor.predict(contents), 0.5)["accuracy"])


def test_two_classes_of_five_pictures_become_a_model(backbones: Path, tmp_path: Path) -> None:
    task: TaskPlugin = get_task("image_classification")
    stage = task.next_stage(StudyState("fast", 60.0, 0, 10, 2, task.probe(backbones)))
    assert isinstance(stage, Stage)
    predictor = modelled(task, stage, stage.candidates[0], backbones, tmp_path, 5)
    assert judged(task, predictor) == 1.0
    assert predictor.manifest.document["fine_tuned_from_block"] is None


def test_a_fine_tuned_model_is_one_graph_in_both_precisions(backbones: Path, tmp_path: Path) -> None:
    task = ImageClassification()
    recipe = {"backbone": DEFAULT_BACKBONE, "precision": "int8", "views": 2, "seed": 0, "maps": "7.1"}
    candidate: Candidate = {"tail": "7.1", "folds": 2, "judged_folds": 1}
    stage = Stage("tail", "A test.", recipe, (candidate,), 3, 3, 3, 1, 1.0)
    predictor = modelled(task, stage, candidate, backbones, tmp_path, 16)
    assert judged(task, predictor) == 1.0
    assert predictor.manifest.document["fine_tuned_from_block"] == "7.1"
    exact = task.load_predictor(tmp_path / "bundle", precision="fp32")
    raw = [encoded(reddish_or_bluish(name, 70), "PNG") for name in ("blue", "red")]
    for rough, fine in zip(predictor.predict(raw), exact.predict(raw), strict=True):
        assert rough.best.class_id == fine.best.class_id
        assert abs(rough.best.score - fine.best.score) < 0.1
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "bundle").glob("*.onnx")}
    assert sizes["model.onnx"] < 5_000_000 < sizes["model-fp32.onnx"]


def test_the_probe_measures_something(backbones: Path) -> None:
    speeds = get_task("image_classification").probe(backbones)
    assert 0 < speeds["view_s"] < 5
    assert speeds["gflops"] > 0.1
    assert speeds["cores"] >= 1


@pytest.mark.parametrize(("name", "expected"), [("a.JPG", True), ("b.webp", True), ("c.txt", False), ("jpg", False)])
def test_what_is_worth_reading(name: str, expected: bool) -> None:
    assert get_task("image_classification").accepts(name) is expected


def test_an_unknown_task_names_the_known_ones() -> None:
    with pytest.raises(TaskUnknownError, match="image_classification"):
        get_task("mind_reading")
    assert "image_classification" in task_names()


def test_predicting_and_planning_load_no_training_libraries() -> None:
    program = (
        "import sys; from learning.registry import get_task;"
        "from learning.study import StudyState;"
        "get_task('image_classification').next_stage(StudyState('fast', 60.0, 0, 9, 2, {}));"
        "print([name for name in ('paddle', 'skimage', 'sklearn', 'onnx', 'ray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
