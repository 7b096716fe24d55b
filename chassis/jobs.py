"""Long work as rows: stored by a handler, taken by a worker under a lease, fenced, and resumed after a death."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, TypeVar
from uuid import uuid4

from chassis.clock import rfc3339
from chassis.deps import Deps
from chassis.errors import StaleLease
from chassis.leases import HeartbeatWatch
from chassis.records import Repository, StoredRecord
from chassis.telemetry import current_traceparent
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
Message = dict[str, Any]


class Job(StoredRecord):
    """One piece of long work. `key` is the aggregate it works for; (fence, beat) is the holder's heartbeat.

    `touched_at`, when it was queued, taken or last beaten, is for people: no lease is judged by it.
    """

    COLLECTION: ClassVar[str] = "jobs"

    kind: str
    key: str
    args: dict[str, Any]
    traceparent: str | None = None
    status: JobStatus = "queued"
    owner: str | None = None
    fence: int = 0
    beat: int = 0
    attempts: int = 0
    touched_at: datetime | None = None


D = TypeVar("D", bound=Deps)


@dataclass(frozen=True)
class JobKind(Generic[D]):
    """What a service does with the messages of its job process. Each call runs inside one fenced unit of work."""

    name: str
    on_message: Callable[[Job, Message, UnitOfWork, D], Awaitable[None]]
    on_result: Callable[[Job, Message, UnitOfWork, D], Awaitable[None]]
    on_failure: Callable[[Job, Failure, UnitOfWork, D], Awaitable[None]]
    max_attempts: int = 3


async def enqueue(tx: UnitOfWork, deps: Deps, kind: str, key: str, args: dict[str, Any]) -> Job:
    """Store a job within the caller's unit of work; a worker takes it after the commit."""
    job = Job(
        id=deps.ids.new("job"),
        kind=kind,
        key=key,
        args=args,
        traceparent=current_traceparent(),
        touched_at=deps.clock.now(),
    )
    await tx.records(Job).add(job)
    return job


async def cancel_jobs(tx: UnitOfWork, key: str) -> int:
    """Cancel what is queued or running for the aggregate; the holder notices at its next heartbeat. How many."""
    jobs = await tx.records(Job).find({"key": key, "status": {"$in": ["queued", "running"]}})
    for job in jobs:
        await tx.records(Job).save(job.changed(status="cancelled"))
    return len(jobs)


async def check_fence(tx: UnitOfWork, job: Job) -> None:
    """Write to the job in this transaction, so that it conflicts with a take-over. Raises StaleLease."""
    holds = {"status": "running", "fence": job.fence}
    # A value that differs each time: servers skip a write that changes nothing, and then there is no conflict.
    if not await tx.documents.update(Job.COLLECTION, job.id, {"last_write": uuid4().hex}, expected=holds):
        raise StaleLease(f"job {job.id} is no longer held under fence {job.fence}")


class JobQueue:
    """Claims jobs for one worker."""

    def __init__(self, deps: Deps, kinds: tuple[str, ...], owner: str, lease_s: float) -> None:
        self._deps = deps
        self._rows = Repository(deps.database, Job)
        self._watch = HeartbeatWatch(deps.clock)
        self._kinds = kinds
        self._owner = owner
        self._lease_s = lease_s

    async def claim(self) -> Job | None:
        """The oldest queued job, else one whose holder is dead; None when there is none."""
        kinds = {"$in": list(self._kinds)}
        for job in sorted(await self._rows.find({"status": "queued", "kind": kinds}), key=lambda job: job.id):
            if claimed := await self._take(job):
                return claimed
        for job in await self._rows.find({"status": "running", "kind": kinds}):
            abandoned = self._watch.unchanged_for(job.id, job.fence, job.beat) >= self._lease_s
            if abandoned and (claimed := await self._take(job)):
                return claimed
        return None

    async def beat(self, job: Job, beat: int) -> bool:
        """Renew; False when the job was cancelled or given to another worker."""
        holds = {"status": "running", "fence": job.fence}
        return await self._deps.database.update(Job.COLLECTION, job.id, {"beat": beat, **self._now()}, expected=holds)

    async def hand_back(self, job: Job) -> None:
        """Queue it again on a clean stop; an attempt that was handed back does not count."""
        await self._queue_again(job, job.attempts - 1)

    async def try_again(self, job: Job) -> None:
        """Queue it again after its process died. Raises StaleLease when the job is no longer held."""
        if not await self._queue_again(job, job.attempts):
            raise StaleLease(f"job {job.id} was cancelled or given to another worker")

    async def _queue_again(self, job: Job, attempts: int) -> bool:
        holds = {"status": "running", "fence": job.fence}
        changes = {"status": "queued", "owner": None, "attempts": attempts, **self._now()}
        return await self._deps.database.update(Job.COLLECTION, job.id, changes, expected=holds)

    def _now(self) -> dict[str, Any]:
        return {"touched_at": rfc3339(self._deps.clock.now())}

    async def _take(self, job: Job) -> Job | None:
        seen = {"status": job.status, "fence": job.fence, "beat": job.beat}
        taken = job.changed(status="running", owner=self._owner, fence=job.fence + 1, beat=0, attempts=job.attempts + 1)
        changes = {**taken.to_document(), **self._now()}
        del changes["_id"]
        self._watch.forget(job.id)
        return taken if await self._deps.database.update(Job.COLLECTION, job.id, changes, expected=seen) else None
