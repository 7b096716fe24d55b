"""What became of each deletion, as its owner wrote it down: used by the services that own what can be deleted."""

from datetime import datetime
from typing import ClassVar, Literal

from chassis.deps import Deps
from chassis.documents.ports import Documents
from chassis.records import StoredRecord
from chassis.unit_of_work import UnitOfWork
from schemas.base import Event, Failure
from schemas.deletion import Deletion
from schemas.run import RunState

LIVE: tuple[RunState, ...] = ("requested", "waiting_data", "searching", "training", "evaluating", "registering")
"""States of a run that still needs its data."""


class DeletionOutcome(StoredRecord):
    """`id` is that of the deletion. Kept after the thing is gone: who had it deleted, and when."""

    COLLECTION: ClassVar[str] = "deletions"

    status: Literal["done", "refused"]
    target: str
    actor: str
    failure: Failure | None = None
    at: datetime


async def write_down(
    tx: UnitOfWork, deps: Deps, asked: Deletion, target: str, outcome: Event, failure: Failure | None = None
) -> None:
    """Keep the outcome for whoever asked, and announce it."""
    record = DeletionOutcome(
        id=asked.deletion_id,
        status="done" if failure is None else "refused",
        target=target,
        actor=asked.actor,
        failure=failure,
        at=deps.clock.now(),
    )
    await tx.records(DeletionOutcome).save(record)
    tx.emit(outcome)


async def run_under_way(registry: Documents, dataset_id: str, version: int | None = None) -> Failure | None:
    """Why the data has to stay: a run that still needs it, as the registry's database has it."""
    of_version = {} if version is None else {"version": version}
    rows = await registry.find("runs", {"dataset_id": dataset_id, **of_version, "state": {"$in": list(LIVE)}}, limit=1)
    if not rows:
        return None
    run_id, state = rows[0]["_id"], rows[0]["state"]
    sentence = f"Run {run_id} is {state}; cancel it or wait for its end, then delete."
    return Failure(code="run_under_way", sentence=sentence)
