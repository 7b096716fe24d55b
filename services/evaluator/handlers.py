"""What the evaluator does with events, and with what its job process says."""

from typing import Any

from chassis.deps import Handlers
from chassis.job_keys import close_key, enqueue_if_open
from chassis.jobs import Job, JobKind, Message
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deadletter import DeadLetterReplayRequested
from schemas.learning import EvaluationFailed, ModelEvaluated, ModelTrained
from schemas.run import RunEnded
from services.evaluator.incumbents import EvaluatorDeps, Incumbent, incumbent_of

EVALUATION = "evaluation"


async def start_evaluation(event: ModelTrained, deps: EvaluatorDeps) -> None:
    """Judge the model, once, beside the version that is in production now; not at all when the run is over."""
    incumbent = await incumbent_of(deps.registry, event.model_id)
    args = {"order": event.model_dump(mode="json"), "incumbent": _document(incumbent)}
    async with deps.unit_of_work(cause=event) as tx:
        await enqueue_if_open(tx, deps, EVALUATION, event.run_id, args, event.project_id)
    deps.jobs_wake.set()


async def stop_evaluation(event: RunEnded, deps: EvaluatorDeps) -> None:
    """Whatever ended the run, no evaluation of it goes on."""
    async with deps.unit_of_work(cause=event) as tx:
        await close_key(tx, event.run_id, event.project_id)


async def refuse_message(job: Job, message: Message, tx: UnitOfWork, deps: EvaluatorDeps) -> None:
    """An evaluation says nothing before its result."""
    raise ValueError(f"the evaluation process said {sorted(message)}, which nobody understands")


async def complete_evaluation(job: Job, result: Message, tx: UnitOfWork, deps: EvaluatorDeps) -> None:
    """The report is stored."""
    order = job.args["order"]
    passed_on = ("project_id", "run_id", "model_id")
    tx.emit(ModelEvaluated.model_validate({**{name: order[name] for name in passed_on}, **result}))


async def fail_evaluation(job: Job, failure: Failure, tx: UnitOfWork, deps: EvaluatorDeps) -> None:
    """The run ends with this reason."""
    order = job.args["order"]
    tx.emit(EvaluationFailed(project_id=order["project_id"], run_id=order["run_id"], failure=failure))


def _document(incumbent: Incumbent | None) -> dict[str, Any] | None:
    if incumbent is None:
        return None
    return {"version": incumbent.version, "bundle": incumbent.bundle.model_dump(mode="json")}


HANDLERS: Handlers = {ModelTrained: start_evaluation, RunEnded: stop_evaluation, DeadLetterReplayRequested: rearm}

EVALUATION_JOB: JobKind[EvaluatorDeps] = JobKind(EVALUATION, refuse_message, complete_evaluation, fail_evaluation)
