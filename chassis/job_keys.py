"""Whether an aggregate still takes jobs: what is over gets none, in whatever order the events come.

The end of a run and the event that asks for its next job come on different topics, so either may be first.
Both write the aggregate's row, so two transactions that meet conflict, and the later one sees the earlier.
"""

from typing import Any, ClassVar

from chassis.deps import Deps
from chassis.jobs import Job, cancel_jobs, enqueue
from chassis.records import StoredRecord
from chassis.unit_of_work import UnitOfWork


class JobKey(StoredRecord):
    """`id` is the key of the jobs."""

    COLLECTION: ClassVar[str] = "job_keys"

    is_closed: bool = False


async def enqueue_if_open(
    tx: UnitOfWork, deps: Deps, kind: str, key: str, args: dict[str, Any], project_id: str
) -> Job | None:
    """Store a job unless the aggregate is over; None when it is."""
    row = await tx.records(JobKey).get(key) or JobKey(id=key, project_id=project_id)
    if row.is_closed:
        return None
    await tx.records(JobKey).save(row)
    return await enqueue(tx, deps, kind, key, args)


async def close_key(tx: UnitOfWork, key: str, project_id: str) -> int:
    """The aggregate is over: cancel its jobs and take no more. How many were cancelled."""
    await tx.records(JobKey).save(JobKey(id=key, project_id=project_id, is_closed=True))
    return await cancel_jobs(tx, key)
