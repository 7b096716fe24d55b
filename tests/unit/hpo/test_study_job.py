"""The study job over fakes: what it says, keeps, finds again and refuses."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.clock import FakeClock
from chassis.errors import PermanentError
from learning.errors import LearningError
from learning.task import FeatureSet, StudyPlan
from schemas.base import BlobRef
from schemas.winner import Winner
from services.hpo.search import OnTrial, TrialOutcome
from services.hpo.study_job import StudyJob
from tests.fake_task import FakeTask
from tests.stage_builders import BUDGET, SMALL, Stage, Voice, a_run, a_version


@dataclass
class OneByOne:
    """A search without Ray: the candidates to start with, one after the other."""

    task: FakeTask
    limits: list[float] = field(default_factory=list)
    sides: list[tuple[int, int]] = field(default_factory=list)
    is_closed: bool = False

    def warm_up(self, sample_count: int) -> None:
        """Nothing to warm."""

    def run(
        self, plan: StudyPlan, train: FeatureSet, validation: FeatureSet, limit_s: float, on_trial: OnTrial
    ) -> list[TrialOutcome]:
        """See TrialSearch."""
        self.limits.append(limit_s)
        self.sides.append((len(train.shas), len(validation.shas)))
        outcomes = []
        for number, start in enumerate(plan.starts):
            try:
                *_, last = self.task.train_trial(start, plan.epochs, plan.seed, train, validation)
            except LearningError:
                continue
            figures = (last.accuracy, last.loss, last.calibration.temperature, last.calibration.threshold)
            outcomes.append(TrialOutcome(number, start, last.epoch, *figures))
            on_trial(outcomes[-1], number + 1)
        return outcomes

    def close(self) -> None:
        """See TrialSearch."""
        self.is_closed = True


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, FakeBlobStore())


def a_job(stage: Stage, task: FakeTask, search: OneByOne | None = None) -> StudyJob:
    return StudyJob(
        blobs=stage.blobs,
        cache=stage.cache,
        scratch_dir=stage.scratch,
        search=search or OneByOne(task),
        clock=FakeClock(),
        plugin_of=lambda name: task,
        backbones=stage.folder / "backbones",
    )


def study(stage: Stage, task: FakeTask, manifest: BlobRef, version: int = 1) -> tuple[dict[str, Any], Voice]:
    voice = Voice("study", {"order": a_run(manifest, version).model_dump(mode="json"), "study_id": "std_1"})
    return a_job(stage, task).run(voice.context), voice


def test_the_winner_file_holds_all_that_training_it_again_needs(stage: Stage) -> None:
    result, _ = study(stage, FakeTask(), a_version(stage.blobs, SMALL))
    winner = Winner.model_validate_json(stage.blobs.get(BlobRef.model_validate(result["winner"])))
    assert winner.candidate == {"accuracy": 0.9}
    assert (winner.epochs, winner.seed, winner.recipe) == (4, 7, {"views": 1})
    assert [(each.id, each.name) for each in winner.classes] == [("cls_a", "apple"), ("cls_b", "pear")]
    assert (winner.calibration.temperature, winner.calibration.threshold) == (2.0, 0.3)
    assert result["metrics"]["accuracy"] == 0.9


def test_every_trial_is_said_after_the_size_of_the_study(stage: Stage) -> None:
    _, voice = study(stage, FakeTask(), a_version(stage.blobs, SMALL))
    assert voice.said("started") == [{"trial_count": 2}]
    trials = voice.said("trial")
    assert [(trial["trial"], trial["candidate"]["accuracy"]) for trial in trials] == [(0, 0.5), (1, 0.9)]
    assert not any(trial["stopped_early"] for trial in trials)
    assert voice.said("progress")[-1]["fraction"] == 1.0


def test_the_test_split_is_never_looked_at(stage: Stage) -> None:
    task = FakeTask()
    search = OneByOne(task)
    order = a_run(a_version(stage.blobs, SMALL)).model_dump(mode="json")
    a_job(stage, task, search).run(Voice("study", {"order": order, "study_id": "std_1"}).context)
    assert search.sides == [(2, 2)]
    assert len(task.computed) == 4


def test_the_search_gets_its_share_of_the_budget_and_the_plan_all_of_it(stage: Stage) -> None:
    task = FakeTask()
    search = OneByOne(task)
    order = a_run(a_version(stage.blobs, SMALL)).model_dump(mode="json")
    a_job(stage, task, search).run(Voice("study", {"order": order, "study_id": "std_1"}).context)
    assert task.budgets == [BUDGET.seconds]
    assert search.limits == [pytest.approx(70)]
    assert search.is_closed


def test_a_second_study_of_the_version_finds_the_features_of_the_first(stage: Stage) -> None:
    manifest = a_version(stage.blobs, SMALL)
    first, _ = study(stage, FakeTask(), manifest)
    again = FakeTask()
    second, _ = study(stage, again, manifest)
    assert again.computed == []
    assert second["features"] == first["features"]


def test_a_later_version_computes_only_what_is_new(stage: Stage) -> None:
    study(stage, FakeTask(), a_version(stage.blobs, SMALL))
    again = FakeTask()
    study(stage, again, a_version(stage.blobs, [*SMALL, ("cls_a 7", "train")]), version=2)
    assert len(again.computed) == 1


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_cached_features_that_are_gone_or_damaged_are_computed_again(stage: Stage, damage: str) -> None:
    manifest = a_version(stage.blobs, SMALL)
    first, _ = study(stage, FakeTask(), manifest)
    key = first["features"][0]["key"]
    if damage == "missing":
        stage.blobs.delete(key)
    else:
        stage.blobs.put_named(key, b"noise", "text/plain")
    again = FakeTask()
    second, _ = study(stage, again, manifest)
    assert len(again.computed) == 4
    assert second["features"] == first["features"]


def test_a_failing_candidate_is_left_out(stage: Stage) -> None:
    task = FakeTask(starts=({"fails": True}, {"accuracy": 0.6}))
    result, _ = study(stage, task, a_version(stage.blobs, SMALL))
    assert result["metrics"]["accuracy"] == 0.6
    assert result["trial_count"] == 1


def test_a_study_fails_only_when_every_candidate_does(stage: Stage) -> None:
    with pytest.raises(PermanentError) as caught:
        study(stage, FakeTask(starts=({"fails": True},)), a_version(stage.blobs, SMALL))
    assert caught.value.code == "study_failed"


def test_a_sample_that_is_gone_fails_the_study_for_good_and_names_it(stage: Stage) -> None:
    manifest = a_version(stage.blobs, SMALL)
    gone = stage.blobs.put("prj_default", b"cls_a 1", "text/plain").key
    stage.blobs.delete(gone)
    with pytest.raises(PermanentError, match=gone) as caught:
        study(stage, FakeTask(), manifest)
    assert caught.value.code == "blob_missing"


def test_a_study_leaves_no_files_of_its_own_behind(stage: Stage) -> None:
    study(stage, FakeTask(), a_version(stage.blobs, SMALL))
    assert stage.leftovers() == []
