"""hpo's events: one study a run, however often it is told; none for a run that is over."""

from typing import Any

import pytest

from chassis.deps import Deps
from chassis.errors import AlreadyHandled
from chassis.jobs import Job
from chassis.records import Repository
from schemas.base import Failure
from schemas.learning import StudyCompleted, StudyFailed, StudyProgressed, StudyStarted, TrialCompleted
from services.hpo.handlers import STUDY_JOB, start_study, stop_study
from tests.builders import a_blob, build_deps, delivered, emitted
from tests.stage_builders import RUN, a_run, an_end

RUN_STARTED = a_run(a_blob("manifest"))


@pytest.fixture
def deps() -> Deps:
    return build_deps("hpo")


async def jobs(deps: Deps) -> list[Job]:
    return await Repository(deps.database, Job).find({})


async def a_running_study(deps: Deps) -> Job:
    await start_study(delivered(RUN_STARTED), deps)
    (job,) = await jobs(deps)
    return job


async def tell(deps: Deps, act: Any, what: Any) -> None:
    job = await a_running_study(deps)
    async with deps.unit_of_work() as tx:
        await act(job, what, tx, deps)


async def test_a_run_has_one_study_however_often_it_is_delivered(deps: Deps) -> None:
    await start_study(delivered(RUN_STARTED, "evt_1"), deps)
    with pytest.raises(AlreadyHandled):
        await start_study(delivered(RUN_STARTED, "evt_1"), deps)
    assert [(job.kind, job.key, job.status) for job in await jobs(deps)] == [("study", RUN, "queued")]


@pytest.mark.parametrize("state", ["cancelled", "failed"])
async def test_the_end_of_the_run_ends_its_study(deps: Deps, state: str) -> None:
    await start_study(delivered(RUN_STARTED), deps)
    await stop_study(delivered(an_end(state)), deps)
    assert [job.status for job in await jobs(deps)] == ["cancelled"]


async def test_a_run_that_is_over_gets_no_study_when_the_events_come_the_other_way_round(deps: Deps) -> None:
    await stop_study(delivered(an_end()), deps)
    await start_study(delivered(RUN_STARTED), deps)
    assert await jobs(deps) == []


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"started": {"trial_count": 4}}, StudyStarted(run_id=RUN, study_id="std_000001", trial_count=4)),
        (
            {"progress": {"stage": "features", "fraction": 0.5, "message_code": "computing_features", "eta_s": 3.0}},
            StudyProgressed(run_id=RUN, stage="features", fraction=0.5, message_code="computing_features", eta_s=3.0),
        ),
        (
            {"trial": {"trial": 2, "candidate": {"head": "mlp"}, "metrics": {"accuracy": 0.5}, "stopped_early": True}},
            TrialCompleted(
                run_id=RUN,
                study_id="std_000001",
                trial=2,
                candidate={"head": "mlp"},
                metrics={"accuracy": 0.5},
                stopped_early=True,
            ),
        ),
    ],
)
async def test_what_the_process_says_becomes_events(deps: Deps, message: Any, event: Any) -> None:
    await tell(deps, STUDY_JOB.on_message, message)
    assert await emitted(deps) == [event]


async def test_a_result_completes_the_study_with_everything_the_trainer_needs(deps: Deps) -> None:
    winner, features = a_blob("winner"), a_blob("features")
    result = {
        "winner": winner.model_dump(mode="json"),
        "features": [features.model_dump(mode="json")],
        "metrics": {"accuracy": 0.9},
        "trial_count": 4,
    }
    await tell(deps, STUDY_JOB.on_result, result)
    (event,) = await emitted(deps)
    assert isinstance(event, StudyCompleted)
    assert (event.winner, event.features, event.study_id) == (winner, [features], "std_000001")
    assert (event.manifest, event.budget, event.seed) == (RUN_STARTED.manifest, RUN_STARTED.budget, RUN_STARTED.seed)
    assert (event.task, event.model_id, event.version) == (RUN_STARTED.task, RUN_STARTED.model_id, 1)


async def test_a_failure_says_why(deps: Deps) -> None:
    failure = Failure(code="study_failed", sentence="None of the 4 candidates could be trained.")
    await tell(deps, STUDY_JOB.on_failure, failure)
    assert await emitted(deps) == [StudyFailed(run_id=RUN, failure=failure)]
