"""What hpo does with events, and with what its job process says."""

from chassis.deps import Deps, Handlers
from chassis.job_keys import close_key, enqueue_if_open
from chassis.jobs import Job, JobKind, Message
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deadletter import DeadLetterReplayRequested
from schemas.learning import StudyCompleted, StudyFailed, StudyProgressed, StudyStarted, TrialCompleted
from schemas.run import RunEnded, RunStarted

STUDY = "study"


async def start_study(event: RunStarted, deps: Deps) -> None:
    """A study of the run's data, once; none when the run is over already."""
    args = {"order": event.model_dump(mode="json"), "study_id": deps.ids.new("std")}
    async with deps.unit_of_work(cause=event) as tx:
        await enqueue_if_open(tx, deps, STUDY, event.run_id, args, event.project_id)
    deps.jobs_wake.set()


async def stop_study(event: RunEnded, deps: Deps) -> None:
    """Whatever ended the run, no study of it goes on."""
    async with deps.unit_of_work(cause=event) as tx:
        await close_key(tx, event.run_id, event.project_id)


async def say_what_happens(job: Job, message: Message, tx: UnitOfWork, deps: Deps) -> None:
    """Progress and trials as events. A second attempt of the job says them again, under the same study."""
    order = RunStarted.model_validate(job.args["order"])
    shared = {"project_id": order.project_id, "run_id": order.run_id}
    study = {**shared, "study_id": job.args["study_id"]}
    if "progress" in message:
        tx.emit(StudyProgressed.model_validate({**shared, **message["progress"]}))
    elif "trial" in message:
        tx.emit(TrialCompleted.model_validate({**study, **message["trial"]}))
    elif "started" in message:
        tx.emit(StudyStarted.model_validate({**study, **message["started"]}))
    else:
        raise ValueError(f"the study process said {sorted(message)}, which nobody understands")


async def complete_study(job: Job, result: Message, tx: UnitOfWork, deps: Deps) -> None:
    """The winner is known."""
    order = job.args["order"]
    passed_on = ("project_id", "run_id", "dataset_id", "version", "model_id", "task", "manifest", "budget", "seed")
    facts = {name: order[name] for name in passed_on}
    tx.emit(StudyCompleted.model_validate({**facts, "study_id": job.args["study_id"], **result}))


async def fail_study(job: Job, failure: Failure, tx: UnitOfWork, deps: Deps) -> None:
    """The run ends with this reason."""
    order = RunStarted.model_validate(job.args["order"])
    tx.emit(StudyFailed(project_id=order.project_id, run_id=order.run_id, failure=failure))


HANDLERS: Handlers = {RunStarted: start_study, RunEnded: stop_study, DeadLetterReplayRequested: rearm}

STUDY_JOB: JobKind[Deps] = JobKind(STUDY, say_what_happens, complete_study, fail_study)
