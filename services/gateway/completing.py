"""From the last part of an upload to the import: a job puts the parts together, then the import is asked for."""

from dataclasses import asdict

from chassis.errors import PermanentError
from chassis.jobs import Job, JobKind, Message, enqueue
from chassis.unit_of_work import UnitOfWork
from schemas.base import BlobRef, Failure
from schemas.requests import ImportRequested
from services.gateway.deps import GatewayDeps
from services.gateway.requests import ImportRequest
from services.gateway.uploads import Upload

UPLOAD = "upload"


async def complete(tx: UnitOfWork, deps: GatewayDeps, upload: Upload, asked: ImportRequest) -> None:
    """Close the upload, remember the import it becomes, and let a worker put the parts together."""
    await tx.records(Upload).save(upload.changed(status="completed", import_id=asked.id))
    await tx.records(ImportRequest).add(asked)
    order = upload.model_dump(include={"key", "session_id", "size", "file_name", "label"})
    await enqueue(tx, deps, UPLOAD, asked.id, {**order, "parts": [asdict(part) for part in upload.arrived]})


async def ask_for_import(job: Job, result: Message, tx: UnitOfWork, deps: GatewayDeps) -> None:
    """The archive is whole and hashed. Nothing is asked for when the data set was deleted meanwhile."""
    asked = await tx.records(ImportRequest).get(job.key)
    if asked is None:
        return
    archive = BlobRef.model_validate(result["archive"])
    await tx.records(ImportRequest).save(asked.changed(archive=archive))
    tx.emit(
        ImportRequested(
            dataset_id=asked.dataset_id,
            import_id=asked.id,
            archive=archive,
            file_name=asked.file_name,
            label=job.args["label"],
        )
    )


async def fail_import(job: Job, failure: Failure, tx: UnitOfWork, deps: GatewayDeps) -> None:
    """The parts could not be put together: the import is rejected before its owner has heard of it."""
    asked = await tx.records(ImportRequest).get(job.key)
    if asked is not None:
        await tx.records(ImportRequest).save(asked.changed(failure=failure))


async def refuse_message(job: Job, message: Message, tx: UnitOfWork, deps: GatewayDeps) -> None:
    """The process says nothing but its result."""
    raise PermanentError("message_unknown", f"The upload job {job.id} said {sorted(message)}, which it never should.")


JOB_KINDS: tuple[JobKind[GatewayDeps], ...] = (JobKind(UPLOAD, refuse_message, ask_for_import, fail_import),)
