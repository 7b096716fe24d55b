"""What the registry does with each event."""

from chassis.deps import Deps, Handlers
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from schemas.base import AutoTrain, Preset
from schemas.dataset import DatasetVersionReady, DatasetVersionRejected
from schemas.deadletter import DeadLetterReplayRequested, EventDeadLettered
from schemas.deletion import DatasetDeleted, DatasetVersionDeleted, ModelDeleteRequested, ModelVersionDeleteRequested
from schemas.learning import EvaluationFailed, ModelEvaluated, ModelTrained, StudyCompleted, StudyFailed, TrainingFailed
from schemas.publishing import AliasRollbackRequested, PolicySetRequested
from schemas.requests import AliasMoveRequested, RunCancelRequested, RunRequested
from services.registry.deleting import delete_model, delete_model_version, forget_dataset, forget_version, why_no_run
from services.registry.models import register
from services.registry.publishing import move_alias_by_hand, roll_alias_back, set_policy
from services.registry.records import KnownVersion, Run
from services.registry.run_log import advance, automatic_run_id, ended, fail, new_run, start


async def start_runs(event: DatasetVersionReady, deps: Deps) -> None:
    """Start each run that waits for this version, and the automatic one if the data set asks for it."""
    known = KnownVersion(
        id=f"{event.dataset_id}/{event.version}",
        project_id=event.project_id,
        dataset_id=event.dataset_id,
        version=event.version,
        task=event.task,
        manifest=event.manifest,
    )
    async with deps.unit_of_work(cause=event) as tx:
        waiting = await _waiting_for(tx, event.dataset_id, event.version)
        if gone := await why_no_run(tx, event.dataset_id):
            await tx.records(KnownVersion).save(known.changed(manifest=None, failure=gone))
            for run in waiting:
                await fail(tx, deps, run, gone)
            return
        await tx.records(KnownVersion).save(known)
        for run in waiting:
            await start(tx, deps, run, known)
        if (preset := _preset(event.auto_train)) is not None:
            run_id = automatic_run_id(event.dataset_id, event.version)
            if await tx.records(Run).get(run_id) is None:
                await start(tx, deps, new_run(deps, event, run_id, preset, "auto"), known)


async def fail_waiting_runs(event: DatasetVersionRejected, deps: Deps) -> None:
    """A version that cannot be trained on ends the runs that waited for it."""
    async with deps.unit_of_work(cause=event) as tx:
        await tx.records(KnownVersion).save(
            KnownVersion(
                id=f"{event.dataset_id}/{event.version}",
                project_id=event.project_id,
                dataset_id=event.dataset_id,
                version=event.version,
                failure=event.failure,
            )
        )
        for run in await _waiting_for(tx, event.dataset_id, event.version):
            await fail(tx, deps, run, event.failure)


async def request_run(event: RunRequested, deps: Deps) -> None:
    """Create the run; it starts now if its version is ready, and waits if that is still in preparation."""
    async with deps.unit_of_work(cause=event) as tx:
        if await tx.records(Run).get(event.run_id) is not None:
            return
        run = new_run(deps, event, event.run_id, event.preset, "request").changed(space=event.space)
        known = await tx.records(KnownVersion).get(f"{event.dataset_id}/{event.version}")
        failure = known.failure if known else await why_no_run(tx, event.dataset_id)
        if failure is not None:
            await fail(tx, deps, run, failure)
        elif known is None:
            await advance(tx, deps, run, "waiting_data")
        else:
            await start(tx, deps, run, known)


async def cancel_run(event: RunCancelRequested, deps: Deps) -> None:
    """End the run without a version; too late once it is registering."""
    async with deps.unit_of_work(cause=event) as tx:
        run = await tx.records(Run).get(event.run_id)
        if run is not None and (moved := await advance(tx, deps, run, "cancelled", ended_at=deps.clock.now())):
            tx.emit(ended(moved))


async def begin_training(event: StudyCompleted, deps: Deps) -> None:
    """The winner is known."""
    async with deps.unit_of_work(cause=event) as tx:
        if run := await tx.records(Run).get(event.run_id):
            await advance(tx, deps, run, "training")


async def begin_evaluating(event: ModelTrained, deps: Deps) -> None:
    """The model is fitted and exported."""
    async with deps.unit_of_work(cause=event) as tx:
        if run := await tx.records(Run).get(event.run_id):
            await advance(tx, deps, run, "evaluating", bundle=event.bundle)


async def register_model(event: ModelEvaluated, deps: Deps) -> None:
    """Number the version, publish it if the policy says so, end the run: all at once, so that a run has one version."""
    async with deps.unit_of_work(cause=event) as tx:
        run = await tx.records(Run).get(event.run_id)
        if run is None or (registering := await advance(tx, deps, run, "registering", bundle=event.bundle)) is None:
            return
        version = await register(tx, deps, registering, event)
        facts = {"model_version": version.version, "publication": version.publication, "ended_at": deps.clock.now()}
        succeeded = await advance(tx, deps, registering, "succeeded", **facts)
        if succeeded is not None:
            tx.emit(ended(succeeded))


async def fail_run(event: StudyFailed | TrainingFailed | EvaluationFailed, deps: Deps) -> None:
    """A stage gave up; its reason becomes the run's."""
    async with deps.unit_of_work(cause=event) as tx:
        if run := await tx.records(Run).get(event.run_id):
            await fail(tx, deps, run, event.failure)


async def fail_run_of_dead_letter(event: EventDeadLettered, deps: Deps) -> None:
    """An event of a run that a service gave up on ends the run; dead letters of anything else are not runs."""
    async with deps.unit_of_work(cause=event) as tx:
        if run := await tx.records(Run).get(event.event_key):
            await fail(tx, deps, run, event.failure)


async def _waiting_for(tx: UnitOfWork, dataset_id: str, version: int) -> list[Run]:
    where = {"dataset_id": dataset_id, "version": version, "state": "waiting_data"}
    return await tx.records(Run).find(where)


def _preset(auto_train: AutoTrain) -> Preset | None:
    return None if auto_train == "off" else auto_train


HANDLERS: Handlers = {
    DatasetVersionReady: start_runs,
    DatasetVersionRejected: fail_waiting_runs,
    RunRequested: request_run,
    RunCancelRequested: cancel_run,
    StudyCompleted: begin_training,
    ModelTrained: begin_evaluating,
    ModelEvaluated: register_model,
    StudyFailed: fail_run,
    TrainingFailed: fail_run,
    EvaluationFailed: fail_run,
    EventDeadLettered: fail_run_of_dead_letter,
    AliasMoveRequested: move_alias_by_hand,
    AliasRollbackRequested: roll_alias_back,
    PolicySetRequested: set_policy,
    ModelDeleteRequested: delete_model,
    ModelVersionDeleteRequested: delete_model_version,
    DatasetDeleted: forget_dataset,
    DatasetVersionDeleted: forget_version,
    DeadLetterReplayRequested: rearm,
}
