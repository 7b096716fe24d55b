"""What the trainer does with events, and with what its job process says."""

import asyncio

from chassis.deps import Deps, Handlers
from chassis.job_keys import close_key, enqueue_if_open
from chassis.jobs import Job, JobKind, Message
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deadletter import DeadLetterReplayRequested
from schemas.learning import ModelTrained, StudyCompleted, TrainingFailed, TrainingProgressed
from schemas.run import RunEnded
from services.trainer.checkpoints import delete_checkpoints

TRAINING = "training"


async def start_training(event: StudyCompleted, deps: Deps) -> None:
    """The winner is fitted once; not at all when the run is over already."""
    args = {"order": event.model_dump(mode="json")}
    async with deps.unit_of_work(cause=event) as tx:
        await enqueue_if_open(tx, deps, TRAINING, event.run_id, args, event.project_id)
    deps.jobs_wake.set()


async def stop_training(event: RunEnded, deps: Deps) -> None:
    """Whatever ended the run, no training of it goes on, and its checkpoint is of no more use."""
    # First, because it can be repeated: after the commit a redelivered event would not get here again.
    await asyncio.to_thread(delete_checkpoints, deps.blobs, event.run_id)
    async with deps.unit_of_work(cause=event) as tx:
        await close_key(tx, event.run_id, event.project_id)


async def say_progress(job: Job, message: Message, tx: UnitOfWork, deps: Deps) -> None:
    """How far the training is."""
    order = job.args["order"]
    shared = {"project_id": order["project_id"], "run_id": order["run_id"]}
    tx.emit(TrainingProgressed.model_validate({**shared, **message["progress"]}))


async def complete_training(job: Job, result: Message, tx: UnitOfWork, deps: Deps) -> None:
    """The bundle is stored."""
    order = job.args["order"]
    passed_on = ("project_id", "run_id", "dataset_id", "version", "model_id", "task", "manifest")
    tx.emit(ModelTrained.model_validate({**{name: order[name] for name in passed_on}, **result}))


async def fail_training(job: Job, failure: Failure, tx: UnitOfWork, deps: Deps) -> None:
    """The run ends with this reason."""
    order = job.args["order"]
    tx.emit(TrainingFailed(project_id=order["project_id"], run_id=order["run_id"], failure=failure))


HANDLERS: Handlers = {StudyCompleted: start_training, RunEnded: stop_training, DeadLetterReplayRequested: rearm}

TRAINING_JOB: JobKind[Deps] = JobKind(TRAINING, say_progress, complete_training, fail_training)
