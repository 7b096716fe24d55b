"""Every event that passed over the public topics, numbered without gaps, for those who read later or over HTTP.

The counter is raised in the transaction that stores the event: two of them conflict, so a reader who sees n has
everything before n. All reads are selective equalities or bounded ranges on an index.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from chassis.documents.ports import Documents, Filter, Index
from chassis.records import Repository, StoredRecord
from chassis.unit_of_work import UnitOfWork
from schemas.base import Event
from schemas.deadletter import EventDeadLettered

COUNTERS = "counters"
COUNTER_ID = "event_archive"
WINDOW = 500


class ArchivedEvent(StoredRecord):
    """One event. `seq` counts from 1; `id` is the same number as text."""

    COLLECTION: ClassVar[str] = "event_archive"

    seq: int
    event_id: str
    type: str
    key: str
    run_id: str | None
    time: str
    data: dict[str, Any]


INDEXES = (
    Index(ArchivedEvent.COLLECTION, ("seq",), unique=True),
    Index(ArchivedEvent.COLLECTION, ("run_id", "seq")),
)


@dataclass(frozen=True)
class Page:
    """`next_after` is where the next page begins; at the end of the archive it equals `head`."""

    events: list[ArchivedEvent]
    next_after: int
    head: int


async def append(tx: UnitOfWork, event: Event) -> None:
    """Archive a delivered event under the next number."""
    seq = await tx.documents.increment(COUNTERS, COUNTER_ID, "seq")
    await tx.records(ArchivedEvent).add(
        ArchivedEvent(
            id=f"{seq:012d}",
            project_id=event.project_id,
            seq=seq,
            event_id=event.meta.id,
            type=event.TYPE,
            key=event.key,
            run_id=_run_of(event),
            time=event.meta.time,
            data=event.model_dump(mode="json"),
        )
    )


def _run_of(event: Event) -> str | None:
    if isinstance(event, EventDeadLettered):
        return event.event_key if event.event_key.startswith("run_") else None
    run_id: str | None = getattr(event, "run_id", None)
    return run_id


async def head_of(documents: Documents) -> int:
    """The newest number; 0 when nothing is archived yet."""
    counter = await documents.get(COUNTERS, COUNTER_ID)
    return 0 if counter is None else int(counter["seq"])


async def read_page(documents: Documents, after: int, limit: int, types: frozenset[str] = frozenset()) -> Page:
    """Up to `limit` events numbered above `after`, in order; only those of `types` unless that is empty."""
    head, position = await head_of(documents), after
    found: list[ArchivedEvent] = []
    while position < head and len(found) < limit:
        end = min(head, position + WINDOW)
        found += await _between(documents, position, end, types)
        position = end
    if len(found) > limit:
        position = found[limit - 1].seq
    return Page(found[:limit], max(position, after), head)


async def _between(documents: Documents, after: int, end: int, types: frozenset[str]) -> list[ArchivedEvent]:
    where: dict[str, Any] = {"seq": {"$gt": after, "$lte": end}}
    if types:
        where["type"] = {"$in": sorted(types)}
    return await _read(documents, where)


async def read_run(documents: Documents, run_id: str, after: int) -> list[ArchivedEvent]:
    """All events of a run numbered above `after`, in order: some hundreds, since progress is thinned out."""
    return await _read(documents, {"run_id": run_id, "seq": {"$gt": after}})


async def _read(documents: Documents, where: Filter) -> list[ArchivedEvent]:
    found = await Repository(documents, ArchivedEvent).find(where)
    return sorted(found, key=lambda event: event.seq)
