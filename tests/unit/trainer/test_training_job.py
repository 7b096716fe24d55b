"""The training job over fakes: it ends with one model, wherever an attempt before it died."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.errors import PermanentError
from schemas.base import DEFAULT_PROJECT, BlobRef
from schemas.winner import Winner, WinnerCalibration, WinnerClass
from services.trainer.training_job import AFTER_CHECKPOINT, TrainingJob
from tests.fake_task import FakeTask
from tests.stage_builders import CLASSES, SMALL, Stage, Voice, a_study, a_version

WINNER = Winner(
    task="fake",
    candidate={"accuracy": 0.9},
    recipe={"views": 1},
    epochs=4,
    seed=7,
    classes=[WinnerClass(id=each.id, name=each.name) for each in CLASSES],
    calibration=WinnerCalibration(temperature=2.0, threshold=0.3),
    accuracy=0.9,
    loss=0.1,
)


class Died(BaseException):
    """Stands for a process that was killed."""


def dies_at(nth: int) -> Callable[[str], None]:
    """A failpoint that ends the process when it is reached for the nth time, counted from 1."""
    reached = []

    def reach(name: str) -> None:
        reached.append(name)
        assert name == AFTER_CHECKPOINT
        if len(reached) == nth:
            raise Died

    return reach


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, FakeBlobStore())


def an_order(stage: Stage, features: list[BlobRef], winner: Winner = WINNER) -> dict[str, Any]:
    stored = stage.blobs.put(DEFAULT_PROJECT, winner.model_dump_json().encode(), "application/json")
    study = a_study(a_version(stage.blobs, SMALL), stored, features)
    return {"order": study.model_dump(mode="json")}


def kept_features(stage: Stage, shas: list[str]) -> BlobRef:
    path = stage.folder / "kept"
    path.write_text(json.dumps(shas))
    return stage.blobs.put_file(DEFAULT_PROJECT, path, "application/octet-stream")


def all_shas(stage: Stage) -> list[str]:
    contents = [content for content, split in SMALL if split != "test"]
    return [stage.blobs.put(DEFAULT_PROJECT, content.encode(), "text/plain").sha256 for content in contents]


def train(
    stage: Stage, task: FakeTask, order: dict[str, Any], reach: Callable[[str], None] = lambda name: None
) -> dict[str, Any]:
    job = TrainingJob(stage.blobs, stage.cache, stage.scratch, stage.folder / "backbone", lambda name: task, reach)
    return job.run(Voice("training", order).context)


def bundle_of(stage: Stage, result: dict[str, Any]) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(stage.blobs.get(BlobRef.model_validate(result["bundle"]))))


def test_the_bundle_holds_the_model_its_classes_and_the_calibration_of_the_study(stage: Stage) -> None:
    bundle = bundle_of(stage, train(stage, FakeTask(), an_order(stage, [kept_features(stage, all_shas(stage))])))
    assert bundle.namelist() == ["manifest.json", "paddle/model"]
    manifest = json.loads(bundle.read("manifest.json"))
    assert manifest["calibration"] == {"temperature": 2.0, "threshold": 0.3}
    assert manifest["classes"] == [["cls_a", "apple"], ["cls_b", "pear"]]
    assert json.loads(bundle.read("paddle/model")) == [1, 2, 3, 4]


def test_what_was_trained_on_is_left_for_the_evaluation(stage: Stage) -> None:
    result = train(stage, FakeTask(), an_order(stage, [kept_features(stage, all_shas(stage))]))
    evidence = json.loads(stage.blobs.get(BlobRef.model_validate(result["evidence"])))
    assert evidence == {"shas": all_shas(stage), "candidate": WINNER.candidate}


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_attempt_after_a_death_goes_on_from_the_checkpoint_to_the_same_model(stage: Stage, nth: int) -> None:
    order = an_order(stage, [kept_features(stage, all_shas(stage))])
    with pytest.raises(Died):
        train(stage, FakeTask(), order, dies_at(nth))
    second = FakeTask()
    resumed = train(stage, second, order)
    assert second.trained_epochs == list(range(nth + 1, WINNER.epochs + 1))
    undisturbed = train(Stage(stage.folder / "other", stage.blobs), FakeTask(), order)
    assert resumed["bundle"] == undisturbed["bundle"]


def test_a_checkpoint_of_another_winner_is_not_gone_on_from(stage: Stage) -> None:
    with pytest.raises(Died):
        train(stage, FakeTask(), an_order(stage, []), dies_at(2))
    other = FakeTask()
    train(stage, other, an_order(stage, [], WINNER.model_copy(update={"candidate": {"accuracy": 0.8}})))
    assert other.trained_epochs == [1, 2, 3, 4]


def test_kept_features_are_not_computed_again(stage: Stage) -> None:
    task = FakeTask()
    train(stage, task, an_order(stage, [kept_features(stage, all_shas(stage))]))
    assert task.computed == []


def test_only_features_that_were_not_kept_are_computed(stage: Stage) -> None:
    task, shas = FakeTask(), all_shas(stage)
    train(stage, task, an_order(stage, [kept_features(stage, shas[:3])]))
    assert task.computed == shas[3:]


def test_features_that_are_gone_are_computed_again(stage: Stage) -> None:
    task = FakeTask()
    kept = kept_features(stage, all_shas(stage))
    stage.blobs.delete(kept.key)
    train(stage, task, an_order(stage, [kept]))
    assert task.computed == all_shas(stage)


def test_features_that_cannot_be_read_are_computed_again(stage: Stage) -> None:
    task = FakeTask()
    unreadable = stage.blobs.put(DEFAULT_PROJECT, b"of another program", "application/octet-stream")
    train(stage, task, an_order(stage, [unreadable]))
    assert task.computed == all_shas(stage)


def test_a_winner_that_is_gone_fails_the_training_for_good(stage: Stage) -> None:
    order = an_order(stage, [])
    stage.blobs.delete(order["order"]["winner"]["key"])
    with pytest.raises(PermanentError) as caught:
        train(stage, FakeTask(), order)
    assert caught.value.code == "blob_missing"


def test_equal_folders_give_equal_archives_and_nothing_is_left_behind(stage: Stage) -> None:
    order = an_order(stage, [kept_features(stage, all_shas(stage))])
    first = train(stage, FakeTask(), order)
    stage.blobs.delete("jobs/run_1/checkpoint/" + order["order"]["winner"]["sha256"])
    assert train(stage, FakeTask(), order)["bundle"] == first["bundle"]
    assert stage.leftovers() == []
