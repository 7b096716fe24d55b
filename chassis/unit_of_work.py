"""One short transaction: documents, the inbox mark of the event that caused it, and the outbox rows of what it emits.

Source of the pattern: transactional outbox and idempotent receiver (Hohpe and Woolf; microservices.io).
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from chassis.bus.cloudevents import check_size
from chassis.clock import Clock, rfc3339
from chassis.documents.ports import Database, Document, Documents, DuplicateDocument
from chassis.errors import AlreadyHandled
from chassis.ids import Ids
from chassis.records import R, Repository
from chassis.telemetry import current_traceparent
from chassis.topics import TopicCatalog
from chassis.wake import Wake
from schemas.base import Event

INBOX = "inbox"
OUTBOX = "outbox"
AGGREGATES = "aggregates"


@dataclass(frozen=True)
class Outlet:
    """What a unit of work needs to emit: who writes, to which topics, under which ids, and whom to wake."""

    service: str
    topics: TopicCatalog
    clock: Clock
    ids: Ids
    relay: Wake


class UnitOfWork:
    """`async with` it. On a clean exit everything is committed, otherwise nothing is.

    Raises AlreadyHandled when the inbox knows `cause`, WriteConflict when another transaction was first.
    """

    def __init__(self, database: Database, outlet: Outlet, cause: Event | None) -> None:
        self._database = database
        self._outlet = outlet
        self._cause = cause
        self._emitted: list[Event] = []
        self._scope: AbstractAsyncContextManager[Documents] | None = None
        self._documents: Documents | None = None

    @property
    def documents(self) -> Documents:
        """The transaction's view. Raises LookupError outside `async with`."""
        if self._documents is None:
            raise LookupError("this unit of work is not open; use it inside `async with`")
        return self._documents

    def records(self, model: type[R]) -> Repository[R]:
        """The records of one kind, within this transaction."""
        return Repository(self.documents, model)

    def emit(self, event: Event) -> None:
        """Publish after the commit, in the order of the calls."""
        self._emitted.append(event)

    async def __aenter__(self) -> Self:
        self._scope = self._database.transaction()
        self._documents = await self._scope.__aenter__()
        try:
            await self._mark_inbox()
        except BaseException as error:
            await self._scope.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._scope is None:
            raise LookupError("this unit of work was never entered")
        if error is None:
            try:
                for event in self._emitted:
                    await self._store(event)
            except BaseException as failure:
                await self._scope.__aexit__(type(failure), failure, failure.__traceback__)
                raise
        result = await self._scope.__aexit__(kind, error, trace)
        if error is None and self._emitted:
            self._outlet.relay.set()
        return result

    async def _mark_inbox(self) -> None:
        if self._cause is None:
            return
        mark = {"_id": self._cause.meta.id, "type": self._cause.TYPE, "at": self._outlet.clock.now()}
        try:
            await self.documents.insert(INBOX, mark)
        except DuplicateDocument:
            raise AlreadyHandled from None

    async def _store(self, event: Event) -> None:
        check_size(event)
        # Raising the aggregate's revision makes two transactions that emit for one key conflict,
        # so whoever sees revision n + 1 committed sees n committed too: the relay relies on it.
        rev = await self.documents.increment(AGGREGATES, event.key, "rev")
        await self.documents.insert(OUTBOX, self._row(event, rev))

    def _row(self, event: Event, rev: int) -> Document:
        outlet = self._outlet
        return {
            "_id": outlet.ids.new("evt"),
            "project_id": event.project_id,
            "topic": outlet.topics.topic_of(event, outlet.service),
            "key": event.key,
            "rev": rev,
            "type": event.TYPE,
            "data": event.model_dump_json(),
            "time": rfc3339(outlet.clock.now()),
            "traceparent": current_traceparent(),
            "status": "pending",
        }
