"""The trainer's events: one training a run, however often it is told; none for a run that is over."""

from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.deps import Deps
from chassis.errors import AlreadyHandled
from chassis.jobs import Job
from chassis.records import Repository
from schemas.base import Failure
from schemas.learning import ModelTrained, TrainingFailed, TrainingProgressed
from services.trainer.handlers import TRAINING_JOB, start_training, stop_training
from tests.builders import a_blob, build_deps, delivered, emitted
from tests.stage_builders import RUN, a_study, an_end

STUDY = a_study(a_blob("manifest"), a_blob("winner"))


@pytest.fixture
def deps() -> Deps:
    return build_deps("trainer")


async def jobs(deps: Deps) -> list[Job]:
    return await Repository(deps.database, Job).find({})


async def tell(deps: Deps, act: Any, what: Any) -> None:
    await start_training(delivered(STUDY), deps)
    (job,) = await jobs(deps)
    async with deps.unit_of_work() as tx:
        await act(job, what, tx, deps)


async def test_a_winner_is_fitted_once_however_often_it_is_delivered(deps: Deps) -> None:
    await start_training(delivered(STUDY, "evt_1"), deps)
    with pytest.raises(AlreadyHandled):
        await start_training(delivered(STUDY, "evt_1"), deps)
    assert [(job.kind, job.key) for job in await jobs(deps)] == [("training", RUN)]


async def test_the_end_of_the_run_ends_its_training(deps: Deps) -> None:
    await start_training(delivered(STUDY), deps)
    await stop_training(delivered(an_end()), deps)
    assert [job.status for job in await jobs(deps)] == ["cancelled"]


async def test_a_study_that_completes_after_its_run_was_cancelled_starts_nothing(deps: Deps) -> None:
    await stop_training(delivered(an_end()), deps)
    await start_training(delivered(STUDY), deps)
    assert await jobs(deps) == []


async def test_the_end_of_a_run_deletes_its_checkpoints_and_no_others(deps: Deps) -> None:
    assert isinstance(deps.blobs, FakeBlobStore)
    for run_id in (RUN, "run_12"):
        deps.blobs.put_named(f"jobs/{run_id}/checkpoint/w", b"half way", "application/octet-stream")
    await stop_training(delivered(an_end()), deps)
    assert list(deps.blobs.keys("jobs/")) == ["jobs/run_12/checkpoint/w"]


async def test_progress_becomes_an_event(deps: Deps) -> None:
    progress = {"stage": "training", "fraction": 0.5, "message_code": "fitting_model", "metrics": {"loss": 0.1}}
    await tell(deps, TRAINING_JOB.on_message, {"progress": progress})
    assert await emitted(deps) == [TrainingProgressed.model_validate({"run_id": RUN, **progress})]


async def test_a_result_tells_of_the_model(deps: Deps) -> None:
    bundle, evidence = a_blob("bundle"), a_blob("evidence")
    blobs = {"bundle": bundle.model_dump(mode="json"), "evidence": evidence.model_dump(mode="json")}
    await tell(deps, TRAINING_JOB.on_result, {**blobs, "metrics": {"loss": 0.1}})
    (event,) = await emitted(deps)
    assert isinstance(event, ModelTrained)
    assert (event.bundle, event.evidence) == (bundle, evidence)
    assert (event.manifest, event.model_id) == (STUDY.manifest, STUDY.model_id)


async def test_a_failure_says_why(deps: Deps) -> None:
    failure = Failure(code="blob_missing", sentence="photo.jpg is not in the object store; upload it again.")
    await tell(deps, TRAINING_JOB.on_failure, failure)
    assert await emitted(deps) == [TrainingFailed(run_id=RUN, failure=failure)]
