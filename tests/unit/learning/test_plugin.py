"""The whole way with few pictures, and what the plug-in costs those who only predict."""

import subprocess
import sys
from pathlib import Path

import pytest

from learning.errors import TaskUnknownError
from learning.registry import get_task, task_names
from learning.split import assign_sides
from learning.task import ClassInfo, TaskPlugin, Truth
from tests.unit.learning.pictures import encoded, reddish_or_bluish, stored_samples


def test_two_classes_of_five_pictures_become_a_model(backbones: Path, tmp_path: Path) -> None:
    task: TaskPlugin = get_task("image_classification")
    samples = stored_samples(tmp_path, 5)
    sides = assign_sides([(sample.sha, sample.labels[0]) for sample in samples])
    plan = task.plan(30, "fast", len(samples), 2, seed=0)
    features = task.features(samples, ["blue", "red"], plan.recipe, backbones, lambda _: None)
    train, validation = (
        features.subset([sha for sha in features.shas if sides[sha] == side]) for side in ("train", "validation")
    )
    *_, report = task.train_trial(plan.starts[0], plan.epochs, plan.seed, train, validation)
    *_, last = task.fit(plan.starts[0], plan.epochs, plan.seed, features, None)
    classes = [ClassInfo("blue", "Blue"), ClassInfo("red", "Red")]
    task.export(last.model, classes, report.calibration, backbones, tmp_path / "bundle")
    predictor = task.load_predictor(tmp_path / "bundle")
    truths = [Truth(f"{name}{seed}", (name,)) for name in ("blue", "red") for seed in range(50, 55)]
    contents = [encoded(reddish_or_bluish(name, seed), "PNG") for name in ("blue", "red") for seed in range(50, 55)]
    result = task.evaluate(classes, truths, predictor.predict(contents), report.calibration.threshold)
    assert result["accuracy"] == 1.0


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
        "get_task('image_classification').plan(60, 'fast', 9, 2, 0);"
        "print([name for name in ('paddle', 'skimage', 'sklearn', 'onnx', 'ray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
