"""What ingest does with each event, and with what its import process says."""

from chassis.deps import Deps, Handlers
from chassis.errors import PermanentError
from chassis.jobs import Job, JobKind, Message, enqueue
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from learning.registry import task_names
from schemas.base import Failure
from schemas.dataset import DatasetCreated, DatasetVersionIngested, ImportAccepted, ImportRejected, SamplesIngested
from schemas.deadletter import DeadLetterReplayRequested
from schemas.deletion import DatasetDeleteRequested, DatasetVersionDeleted
from schemas.requests import DatasetRequested, ImportRequested
from services.ingest.deleting import delete_dataset, forget_version
from services.ingest.records import Chunk, Dataset, Import

IMPORT = "import"


async def create_dataset(event: DatasetRequested, deps: Deps) -> None:
    """Create the data set under the id that the request chose; a second request for that id changes nothing."""
    if event.task not in task_names():
        known = ", ".join(task_names())
        raise PermanentError("task_unknown", f"There is no task {event.task!r}; choose one of: {known}.")
    dataset = Dataset(
        id=event.dataset_id,
        project_id=event.project_id,
        name=event.name,
        task=event.task,
        auto_train=event.auto_train,
        created_at=deps.clock.now(),
    )
    async with deps.unit_of_work(cause=event) as tx:
        if await tx.records(Dataset).get(dataset.id) is None:
            await tx.records(Dataset).add(dataset)
            tx.emit(_created(dataset))


async def accept_import(event: ImportRequested, deps: Deps) -> None:
    """Give the import its version number and let a worker read the archive."""
    async with deps.unit_of_work(cause=event) as tx:
        if await tx.records(Import).get(event.import_id) is not None:
            return
        dataset = await _dataset(tx, event.dataset_id)
        await tx.records(Dataset).save(dataset.changed(next_version=dataset.next_version + 1))
        accepted = Import(
            id=event.import_id,
            project_id=dataset.project_id,
            dataset_id=dataset.id,
            file_name=event.file_name,
            status="accepted",
            version=dataset.next_version,
            created_at=deps.clock.now(),
        )
        await tx.records(Import).add(accepted)
        tx.emit(ImportAccepted(**_identity(accepted), import_id=accepted.id))
        await enqueue(tx, deps, IMPORT, accepted.id, _order(accepted, dataset, event))
    deps.jobs_wake.set()


async def announce_chunk(job: Job, message: Message, tx: UnitOfWork, deps: Deps) -> None:
    """A stored chunk goes out at once, so that its samples are decoded while the next are read.

    A job that is tried again says the same chunks again: those already announced are known and skipped.
    """
    found = await _import(tx, job.key)
    dataset = await _dataset(tx, found.dataset_id)
    said = message["chunk"]
    chunk = Chunk(
        id=f"{found.dataset_id}/{found.version}/{said['chunk']}",
        project_id=found.project_id,
        dataset_version=f"{found.dataset_id}/{found.version}",
        **said,
    )
    if await tx.records(Chunk).get(chunk.id) is not None:
        return
    await tx.records(Chunk).add(chunk)
    tx.emit(
        SamplesIngested(
            **_identity(found),
            chunk=chunk.chunk,
            task=dataset.task,
            samples=chunk.samples,
            sample_count=chunk.sample_count,
        )
    )


async def end_import(job: Job, result: Message, tx: UnitOfWork, deps: Deps) -> None:
    """Every chunk is out; or there was none, and the import is rejected with what was found."""
    found = (await _import(tx, job.key)).changed(ended_at=deps.clock.now(), **result["counts"])
    if result["failure"] is not None:
        await _reject(found, Failure.model_validate(result["failure"]), tx)
        return
    dataset = await _dataset(tx, found.dataset_id)
    await tx.records(Import).save(found.changed(status="ingested"))
    tx.emit(
        DatasetVersionIngested(
            **_identity(found),
            import_id=found.id,
            task=dataset.task,
            auto_train=dataset.auto_train,
            chunk_count=found.chunk_count,
            sample_count=found.sample_count,
            rejected_count=found.rejected_count,
            rejections=found.rejections,
        )
    )


async def reject_import(job: Job, failure: Failure, tx: UnitOfWork, deps: Deps) -> None:
    """The archive as a whole could not be read."""
    found = await _import(tx, job.key)
    await _reject(found.changed(ended_at=deps.clock.now()), failure, tx)


async def _reject(found: Import, failure: Failure, tx: UnitOfWork) -> None:
    await tx.records(Import).save(found.changed(status="rejected", failure=failure))
    tx.emit(ImportRejected(**_identity(found), import_id=found.id, failure=failure))


def _order(accepted: Import, dataset: Dataset, asked: ImportRequested) -> dict[str, object]:
    return {
        "project_id": accepted.project_id,
        "file_name": accepted.file_name,
        "task": dataset.task,
        "archive": asked.archive.model_dump(mode="json"),
        "label": asked.label,
    }


def _identity(found: Import) -> dict[str, object]:
    return {"project_id": found.project_id, "dataset_id": found.dataset_id, "version": found.version}


def _created(dataset: Dataset) -> DatasetCreated:
    return DatasetCreated(
        project_id=dataset.project_id,
        dataset_id=dataset.id,
        name=dataset.name,
        task=dataset.task,
        auto_train=dataset.auto_train,
    )


async def _dataset(tx: UnitOfWork, dataset_id: str) -> Dataset:
    dataset = await tx.records(Dataset).get(dataset_id)
    if dataset is None:
        raise PermanentError("dataset_unknown", f"There is no data set {dataset_id}; create it first, then import.")
    if dataset.deleted_at is not None:
        sentence = f"Data set {dataset_id} was deleted; create another, then import."
        raise PermanentError("dataset_deleted", sentence)
    return dataset


async def _import(tx: UnitOfWork, import_id: str) -> Import:
    found = await tx.records(Import).get(import_id)
    if found is None:
        raise PermanentError("import_unknown", f"There is no import {import_id}; upload the archive again.")
    return found


HANDLERS: Handlers = {
    DatasetRequested: create_dataset,
    ImportRequested: accept_import,
    DatasetDeleteRequested: delete_dataset,
    DatasetVersionDeleted: forget_version,
    DeadLetterReplayRequested: rearm,
}
JOB_KINDS: tuple[JobKind[Deps], ...] = (JobKind(IMPORT, announce_chunk, end_import, reject_import),)
