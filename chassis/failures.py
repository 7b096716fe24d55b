"""Events that could not be handled: kept, retried a bounded number of times, then dead letters. Nothing is dropped.

While an event waits here, later events of its key park behind it, so order per key holds and the partition goes on.
"""

import base64
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from chassis.bus.cloudevents import header
from chassis.bus.ports import Record
from chassis.deps import Deps
from chassis.errors import PermanentError, TransientError
from chassis.metrics import DEAD_LETTERS, FAILURES_OPEN, PARKED_KEYS
from chassis.records import Repository, StoredRecord
from schemas.base import Failure
from schemas.deadletter import EventDeadLettered

DONE_AT = "done_at"
"""When an event that had failed was through at last; rows without it never expire."""

Status = Literal["retrying", "parked", "dead", "done"]
OPEN: tuple[Status, ...] = ("retrying", "parked")


class FailedEvent(StoredRecord):
    """An event with what is known of its failing. Ids sort by arrival."""

    COLLECTION: ClassVar[str] = "failures"

    status: Status
    event_id: str
    event_type: str
    key: str
    topic: str
    partition: int
    offset: int
    raw_key: str | None
    raw_value: str | None
    headers: list[tuple[str, str]]
    attempts: int = 0
    code: str = ""
    sentence: str = ""
    next_attempt_at: datetime
    dead_at: datetime | None = None
    replays: int = 0

    def record(self) -> Record:
        """The record as it came from the bus."""
        headers = tuple((name, base64.b64decode(value)) for name, value in self.headers)
        return Record(
            self.topic, self.partition, self.offset, _decoded(self.raw_key), _decoded(self.raw_value), headers
        )


def _encoded(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def key_of(record: Record) -> str:
    """The aggregate's id; one of its own for a record without a key, so that it blocks nobody."""
    if record.key is None:
        return f"{record.topic}/{record.partition}/{record.offset}"
    return record.key.decode("utf-8", "replace")


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015)."""

    attempts: int = 6
    first_s: float = 1.0
    most_s: float = 60.0

    def delay_s(self, attempts: int, luck: float) -> float | None:
        """Seconds until the next attempt after `attempts` failed ones; None when that was the last. `luck` in 0..1."""
        if attempts >= self.attempts:
            return None
        return luck * float(min(self.most_s, self.first_s * 2 ** (attempts - 1)))


class Failures:
    """The failures of one service."""

    def __init__(self, deps: Deps, policy: RetryPolicy) -> None:
        self._deps = deps
        self._policy = policy
        self._rows = Repository(deps.database, FailedEvent)

    async def blocks(self, key: str) -> bool:
        """Whether an earlier event of this key still waits here."""
        return bool(await self._rows.find({"key": key, "status": {"$in": list(OPEN)}}, limit=1))

    async def park(self, record: Record) -> None:
        """Keep the event until those of its key that came before are through."""
        await self._rows.save(self._row(record, "parked"))

    async def failed(self, record: Record, error: Exception) -> None:
        """The first attempt failed: wait for another, or give up at once when the error is permanent."""
        await self._settle(self._row(record, "retrying"), error)

    async def failed_again(self, row: FailedEvent, error: Exception) -> None:
        """Another attempt failed."""
        await self._settle(row, error)

    async def succeeded(self, row: FailedEvent) -> None:
        """The event is through; the next of its key may be tried."""
        # A date, not text as in records: the index that lets such rows expire takes no other.
        done = {"status": "done", DONE_AT: self._deps.clock.now()}
        await self._deps.database.update(FailedEvent.COLLECTION, row.id, done)

    async def due(self) -> list[FailedEvent]:
        """The first waiting event of each key, where its time has come."""
        waiting = await self._rows.find({"status": {"$in": list(OPEN)}})
        FAILURES_OPEN.labels(self._deps.service).set(len(waiting))
        PARKED_KEYS.labels(self._deps.service).set(len({row.key for row in waiting if row.status == "parked"}))
        now = self._deps.clock.now()
        return [row for row in _heads(waiting) if row.status == "parked" or row.next_attempt_at <= now]

    async def _settle(self, row: FailedEvent, error: Exception) -> None:
        attempts = row.attempts + 1
        code, sentence = _reason(error)
        row = row.changed(attempts=attempts, code=code, sentence=sentence)
        delay = None if isinstance(error, PermanentError) else self._policy.delay_s(attempts, random.random())  # noqa: S311 - jitter, not a secret
        if delay is None:
            await self._bury(row)
        else:
            next_attempt = self._deps.clock.now() + timedelta(seconds=delay)
            await self._rows.save(row.changed(status="retrying", next_attempt_at=next_attempt))

    async def _bury(self, row: FailedEvent) -> None:
        async with self._deps.unit_of_work() as tx:
            await tx.records(FailedEvent).save(row.changed(status="dead", dead_at=self._deps.clock.now()))
            tx.emit(_dead_letter(row, self._deps.service))
        DEAD_LETTERS.labels(self._deps.service, row.code).inc()

    def _row(self, record: Record, status: Status) -> FailedEvent:
        position = f"{record.topic}-{record.partition}-{record.offset}"
        return FailedEvent(
            id=self._deps.ids.new("fail"),
            status=status,
            event_id=header(record, "ce_id") or position,
            event_type=header(record, "ce_type") or "unknown",
            key=key_of(record),
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            raw_key=_encoded(record.key),
            raw_value=_encoded(record.value),
            headers=[(name, base64.b64encode(value).decode()) for name, value in record.headers],
            next_attempt_at=self._deps.clock.now(),
        )


def _heads(rows: Iterable[FailedEvent]) -> list[FailedEvent]:
    by_key: defaultdict[str, list[FailedEvent]] = defaultdict(list)
    for row in rows:
        by_key[row.key].append(row)
    return [min(group, key=lambda row: row.id) for group in by_key.values()]


def _reason(error: Exception) -> tuple[str, str]:
    if isinstance(error, PermanentError | TransientError):
        return error.code, error.sentence
    return "handler_failed", f"{type(error).__name__}: {error}"


def _dead_letter(row: FailedEvent, service: str) -> EventDeadLettered:
    return EventDeadLettered(
        project_id=row.project_id,
        service=service,
        event_id=row.event_id,
        event_type=row.event_type,
        event_key=row.key,
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        attempts=row.attempts,
        failure=Failure(code=row.code, sentence=row.sentence),
        failure_id=row.id,
    )
