"""The study job over fakes: what it says, keeps, finds again and refuses."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.clock import FakeClock
from chassis.errors import PermanentError
from learning.errors import LearningError
from learning.study import StudyState, TrialOutcome
from learning.task import FeatureSet
from schemas.base import DEFAULT_PROJECT, BlobRef
from schemas.winner import Winner
from services.hpo.search import OnTrial, StageOrder
from services.hpo.study_job import AFTER_TRIAL, StudyJob
from services.hpo.study_log import StudyLog
from tests.fake_task import FakeTask
from tests.stage_builders import BUDGET, RUN, SMALL, Stage, Voice, a_run, a_version


@dataclass
class OneByOne:
    """A search without Ray: the candidates one after the other."""

    task: FakeTask
    orders: list[StageOrder] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    is_closed: bool = False

    def warm_up(self, sample_count: int) -> None:
        """Nothing to warm."""

    def run(self, order: StageOrder, features: FeatureSet, on_trial: OnTrial) -> list[TrialOutcome]:
        """See TrialSearch."""
        self.orders.append(order)
        self.samples.append(len(features.shas))
        outcomes = []
        for number, candidate in order.candidates.items():
            try:
                *_, last = self.task.train_trial(candidate, order.stage.epochs, order.seed, features)
            except LearningError:
                continue
            numbers = (last.accuracy, last.loss, last.calibration.temperature, last.calibration.threshold, last.judged)
            outcomes.append(TrialOutcome(number, candidate, last.epoch, *numbers))
            on_trial(outcomes[-1], len(outcomes))
        return outcomes

    def close(self) -> None:
        """See TrialSearch."""
        self.is_closed = True


class Died(BaseException):
    """Stands for a process that was killed."""


def dies_at(nth: int) -> Callable[[str], None]:
    """A failpoint that ends the process when it is reached for the nth time, counted from 1."""
    reached = []

    def reach(name: str) -> None:
        assert name == AFTER_TRIAL
        reached.append(name)
        if len(reached) == nth:
            raise Died

    return reach


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, FakeBlobStore())


def a_job(
    stage: Stage,
    task: FakeTask,
    search: OneByOne | None = None,
    reach: Callable[[str], None] = lambda name: None,
) -> StudyJob:
    search = search or OneByOne(task)
    return StudyJob(
        blobs=stage.blobs,
        cache=stage.cache,
        scratch_dir=stage.scratch,
        search=search,
        plain=search,
        clock=FakeClock(),
        plugin_of=lambda name: task,
        backbones=stage.folder / "backbones",
        reach=reach,
    )


def a_voice(manifest: BlobRef, version: int = 1) -> Voice:
    return Voice("study", {"order": a_run(manifest, version).model_dump(mode="json"), "study_id": "std_1"})


def study(stage: Stage, task: FakeTask, manifest: BlobRef, version: int = 1) -> tuple[dict[str, Any], Voice]:
    """A study that begins, whatever an earlier one kept of the same run."""
    stage.blobs.delete(StudyLog(stage.blobs, RUN).key)
    voice = a_voice(manifest, version)
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
    a_job(stage, task, search).run(a_voice(a_version(stage.blobs, SMALL)).context)
    assert search.samples == [4]
    assert len(task.computed) == 4


def test_the_search_gets_its_share_of_the_budget_and_the_plan_all_of_it(stage: Stage) -> None:
    task = FakeTask()
    search = OneByOne(task)
    a_job(stage, task, search).run(a_voice(a_version(stage.blobs, SMALL)).context)
    assert task.states[0].budget_seconds == BUDGET.seconds
    assert [order.limit_s for order in search.orders] == [pytest.approx(70)]
    assert search.is_closed


def test_the_plan_knows_how_fast_the_machine_is_and_how_late_it_is(stage: Stage) -> None:
    task = FakeTask()
    study(stage, task, a_version(stage.blobs, SMALL))
    assert (task.states[0].speeds, task.states[0].sample_count, task.states[0].class_count) == ({"view_s": 0.01}, 4, 2)
    assert task.states[0].elapsed_seconds == pytest.approx(0)


def test_stages_follow_each_other_and_the_best_of_all_wins(stage: Stage) -> None:
    task = FakeTask(stages=(({"accuracy": 0.5}, {"accuracy": 0.8}), ({"accuracy": 0.9},), ({"accuracy": 0.7},)))
    search = OneByOne(task)
    voice = a_voice(a_version(stage.blobs, SMALL))
    result = a_job(stage, task, search).run(voice.context)
    assert [order.needs_finalist for order in search.orders] == [True, False, False]
    assert [trial["trial"] for trial in voice.said("trial")] == [0, 1, 2, 3]
    assert result["metrics"]["accuracy"] == 0.9
    assert result["trial_count"] == 4
    assert len(task.computed) == 4


def test_the_report_says_what_was_tried_and_why_the_winner_won(stage: Stage) -> None:
    task = FakeTask(stages=(({"accuracy": 0.5},), ({"accuracy": 0.9},)))
    result, _ = study(stage, task, a_version(stage.blobs, SMALL))
    report = json.loads(stage.blobs.get(BlobRef.model_validate(result["report"])))
    assert [tried["stage"]["why"] for tried in report["results"]] == ["A test.", "A test."]
    assert report["ended_because"] == "There are no more stages."
    assert "accuracy 0.9000" in report["won_because"]
    assert StudyState.from_json(report).results[1].outcomes[0].accuracy == 0.9


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_attempt_after_a_death_goes_on_with_the_next_trial(stage: Stage, nth: int) -> None:
    stages = (({"accuracy": 0.5}, {"accuracy": 0.6}), ({"accuracy": 0.9}, {"accuracy": 0.7}))
    manifest = a_version(stage.blobs, SMALL)
    with pytest.raises(Died):
        a_job(stage, FakeTask(stages=stages), reach=dies_at(nth)).run(a_voice(manifest).context)
    second = FakeTask(stages=stages)
    search = OneByOne(second)
    voice = a_voice(manifest)
    result = a_job(stage, second, search).run(voice.context)
    assert sum(len(order.candidates) for order in search.orders) == 4 - nth
    # All four: nobody may have noted what the first attempt said.
    assert [trial["trial"] for trial in voice.said("trial")] == [0, 1, 2, 3]
    assert len(voice.said("started")) == 1
    assert result["metrics"]["accuracy"] == 0.9
    assert second.computed == []


def test_a_stage_with_one_candidate_needs_no_search(stage: Stage) -> None:
    task = FakeTask(stages=(({"accuracy": 0.5}, {"accuracy": 0.6}), ({"accuracy": 0.9},)))
    job, plain = a_job(stage, task), OneByOne(task)
    dataclasses.replace(job, plain=plain).run(a_voice(a_version(stage.blobs, SMALL)).context)
    assert isinstance(job.search, OneByOne)
    assert [len(order.candidates) for order in job.search.orders] == [2]
    assert [len(order.candidates) for order in plain.orders] == [1]


def test_the_next_study_knows_what_the_last_whole_search_found(stage: Stage) -> None:
    manifest = a_version(stage.blobs, SMALL)
    study(stage, FakeTask(), manifest)
    second = FakeTask(stages=(({"accuracy": 0.7},),))
    study(stage, second, manifest)
    third = FakeTask()
    study(stage, third, manifest)
    found = {"candidate": {"accuracy": 0.9}, "sample_count": 4}
    assert second.states[0].earlier == third.states[0].earlier == found, "a stage of one candidate is no search"


def test_an_earlier_winner_of_another_program_is_no_hindrance(stage: Stage) -> None:
    stage.blobs.put_named(f"projects/{DEFAULT_PROJECT}/features/ds_1/winner-fast.json", b"[]", "application/json")
    task = FakeTask()
    study(stage, task, a_version(stage.blobs, SMALL))
    assert task.states[0].earlier is None


def test_a_study_log_of_another_program_is_no_hindrance(stage: Stage) -> None:
    stage.blobs.put_named(StudyLog(stage.blobs, RUN).key, b'{"results": 3}', "application/json")
    result = a_job(stage, FakeTask()).run(a_voice(a_version(stage.blobs, SMALL)).context)
    assert result["metrics"]["accuracy"] == 0.9


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
    assert len(again.computed) == 2
    assert sorted(ref["key"] for ref in second["features"]) == sorted(ref["key"] for ref in first["features"])


def test_a_failing_candidate_is_left_out(stage: Stage) -> None:
    task = FakeTask(stages=(({"fails": True}, {"accuracy": 0.6}),))
    result, _ = study(stage, task, a_version(stage.blobs, SMALL))
    assert result["metrics"]["accuracy"] == 0.6
    assert result["trial_count"] == 1


def test_a_study_fails_only_when_every_candidate_does(stage: Stage) -> None:
    with pytest.raises(PermanentError) as caught:
        study(stage, FakeTask(stages=(({"fails": True},),)), a_version(stage.blobs, SMALL))
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
