"""When blobs are collected, and what is written down of it: document `latest` of `blob_collection`."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from chassis.deps import Deps
from chassis.errors import PermanentError, WriteConflict
from chassis.jobs import Job, JobKind, Message
from chassis.records import StoredRecord
from chassis.unit_of_work import UnitOfWork
from schemas.base import DEFAULT_PROJECT, Failure
from services.ingest.records import Dataset

COLLECT = "collect"
JOB_ID = "job_blob_collection"
LATEST = "latest"
OWNER = "owner"
CHECK_S = 10.0


class BlobCollection(StoredRecord):
    """The last look at the object store. `orphans` nothing needed; `removed` went; a `failure` says why none did."""

    COLLECTION: ClassVar[str] = "blob_collection"

    looked_at: datetime
    orphans: int = 0
    orphan_bytes: int = 0
    removed: int = 0
    aborted: int = 0
    failure: Failure | None = None


class Owner(StoredRecord):
    """This database by a name of its own, made once, so that no other is taken for it."""

    COLLECTION: ClassVar[str] = "blob_collection"

    database_id: str
    made_at: datetime


@dataclass
class CollectionLoop:
    """Asks for a collection every `interval`, first one `interval` after the first start, however many run this."""

    deps: Deps
    interval: timedelta
    check_s: float = CHECK_S

    async def turn(self) -> None:
        """One look at the time."""
        try:
            if await ask_for_collection(self.deps, self.interval):
                self.deps.jobs_wake.set()
        except WriteConflict:  # another process asks in this moment
            pass
        await asyncio.sleep(self.check_s)


async def ask_for_collection(deps: Deps, interval: timedelta) -> bool:
    """Queue the one job there is of this kind, unless it is under way or not due yet. Raises WriteConflict."""
    async with deps.unit_of_work() as tx:
        job, latest = await tx.records(Job).get(JOB_ID), await tx.records(BlobCollection).get(LATEST)
        owner = await _owner(tx, deps)
        last = owner.made_at if latest is None else latest.looked_at
        is_under_way = job is not None and job.status in ("queued", "running")
        if is_under_way or deps.clock.now() - last < interval:
            return False
        datasets = await tx.documents.find(Dataset.COLLECTION, {})
        projects = {DEFAULT_PROJECT, *(dataset["project_id"] for dataset in datasets)}
        order = {"database_id": owner.database_id, "projects": sorted(projects)}
        # The fence goes on counting, so that nothing that an earlier holder still says is taken for this one's.
        fence = 0 if job is None else job.fence
        asked = Job(id=JOB_ID, kind=COLLECT, key=COLLECT, args=order, fence=fence, touched_at=deps.clock.now())
        await tx.records(Job).save(asked)
    return True


async def write_outcome(job: Job, result: Message, tx: UnitOfWork, deps: Deps) -> None:
    """What was found and removed."""
    await tx.records(BlobCollection).save(BlobCollection(id=LATEST, looked_at=deps.clock.now(), **result))


async def write_failure(job: Job, failure: Failure, tx: UnitOfWork, deps: Deps) -> None:
    """Why nothing was; the next look is due after the usual time."""
    latest = await tx.records(BlobCollection).get(LATEST)
    outcome = latest or BlobCollection(id=LATEST, looked_at=deps.clock.now())
    await tx.records(BlobCollection).save(outcome.changed(looked_at=deps.clock.now(), removed=0, failure=failure))


async def refuse_message(job: Job, message: Message, tx: UnitOfWork, deps: Deps) -> None:
    """The process says nothing but its result."""
    raise PermanentError("message_unknown", f"The {job.kind} job said {sorted(message)}, which it never should.")


async def _owner(tx: UnitOfWork, deps: Deps) -> Owner:
    if (found := await tx.records(Owner).get(OWNER)) is not None:
        return found
    made = Owner(id=OWNER, database_id=deps.ids.new("db"), made_at=deps.clock.now())
    await tx.records(Owner).add(made)
    return made


JOB_KIND: JobKind[Deps] = JobKind(COLLECT, refuse_message, write_outcome, write_failure)
