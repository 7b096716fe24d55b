"""The evaluator's events: one evaluation a run, beside the version in production; none for a run that is over."""

from typing import Any

import pytest

from chassis.documents.fake import FakeDatabase
from chassis.errors import AlreadyHandled
from chassis.jobs import Job
from chassis.records import Repository
from schemas.base import Failure
from schemas.learning import EvaluationFailed, ModelEvaluated
from services.evaluator.handlers import EVALUATION_JOB, start_evaluation, stop_evaluation
from services.evaluator.incumbents import EvaluatorDeps
from tests.builders import a_blob, build_deps, delivered, emitted, extended
from tests.stage_builders import RUN, a_model, an_end

MODEL = a_model(a_blob("manifest"), a_blob("bundle"))


@pytest.fixture
def deps() -> EvaluatorDeps:
    built = extended(build_deps("evaluator"), EvaluatorDeps, registry=FakeDatabase())
    assert isinstance(built, EvaluatorDeps)
    return built


async def jobs(deps: EvaluatorDeps) -> list[Job]:
    return await Repository(deps.database, Job).find({})


async def tell(deps: EvaluatorDeps, act: Any, what: Any) -> None:
    await start_evaluation(delivered(MODEL), deps)
    (job,) = await jobs(deps)
    async with deps.unit_of_work() as tx:
        await act(job, what, tx, deps)


async def test_a_model_is_judged_once_however_often_it_is_delivered(deps: EvaluatorDeps) -> None:
    await start_evaluation(delivered(MODEL, "evt_1"), deps)
    with pytest.raises(AlreadyHandled):
        await start_evaluation(delivered(MODEL, "evt_1"), deps)
    assert [(job.kind, job.key, job.args["incumbent"]) for job in await jobs(deps)] == [("evaluation", RUN, None)]


async def test_the_version_in_production_is_judged_too(deps: EvaluatorDeps) -> None:
    bundle = a_blob("old").model_dump(mode="json")
    assert isinstance(deps.registry, FakeDatabase)
    await deps.registry.insert("aliases", {"_id": "mdl_1/production", "model_id": "mdl_1", "version": 3})
    for version in (2, 3):
        row = {"_id": f"mdl_1/{version}", "version": version, "bundle": bundle}
        await deps.registry.insert("model_versions", row)
    await start_evaluation(delivered(MODEL), deps)
    (job,) = await jobs(deps)
    assert job.args["incumbent"] == {"version": 3, "bundle": bundle}


async def test_a_run_that_is_over_is_not_judged_in_whatever_order_the_events_come(deps: EvaluatorDeps) -> None:
    await start_evaluation(delivered(MODEL), deps)
    await stop_evaluation(delivered(an_end()), deps)
    await start_evaluation(delivered(MODEL), deps)
    assert [job.status for job in await jobs(deps)] == ["cancelled"]


async def test_a_result_tells_of_report_and_baseline(deps: EvaluatorDeps) -> None:
    report, settled = a_blob("report"), a_blob("settled")
    result = {
        "bundle": settled.model_dump(mode="json"),
        "report": report.model_dump(mode="json"),
        "metrics": {"accuracy": 0.9},
        "primary_metric": "accuracy",
        "baseline_version": 3,
        "baseline_metrics": {"accuracy": 0.8},
    }
    await tell(deps, EVALUATION_JOB.on_result, result)
    assert await emitted(deps) == [
        ModelEvaluated(
            run_id=RUN,
            model_id="mdl_1",
            bundle=settled,
            report=report,
            metrics={"accuracy": 0.9},
            primary_metric="accuracy",
            baseline_version=3,
            baseline_metrics={"accuracy": 0.8},
        )
    ]


async def test_a_failure_says_why(deps: EvaluatorDeps) -> None:
    failure = Failure(code="blob_missing", sentence="The bundle is not in the object store; start a new run.")
    await tell(deps, EVALUATION_JOB.on_failure, failure)
    assert await emitted(deps) == [EvaluationFailed(run_id=RUN, failure=failure)]
