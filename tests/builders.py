"""What unit tests are built from: dependencies over fakes, delivered events, records as the bus hands them over."""

import itertools
from typing import Any, TypeVar

from chassis.blobs.fake import FakeBlobStore
from chassis.bus.cloudevents import encode
from chassis.bus.ports import Record
from chassis.clock import FakeClock
from chassis.deps import Deps, Handlers
from chassis.dispatch import Dispatcher
from chassis.documents.fake import FakeDatabase
from chassis.failures import Failures, RetryPolicy
from chassis.ids import FakeIds
from chassis.topics import load_topics
from chassis.unit_of_work import OUTBOX
from chassis.wake import Wake
from schemas.base import BlobRef, Event, EventMeta
from schemas.catalog import EVENTS

E = TypeVar("E", bound=Event)

TIME = "2026-01-01T00:00:00.000Z"
_numbers = itertools.count(1)


def build_deps(service: str, database: FakeDatabase | None = None, clock: FakeClock | None = None) -> Deps:
    """The dependencies of a service over fakes."""
    return Deps(
        service=service,
        database=database or FakeDatabase(),
        blobs=FakeBlobStore(),
        clock=clock or FakeClock(),
        ids=FakeIds(),
        topics=load_topics(),
        relay_wake=Wake(),
        jobs_wake=Wake(),
    )


def extended(deps: Deps, model: type[Any], **more: Any) -> Any:
    """The same dependencies as a service's own Deps class, with its further fields."""
    return model(**vars(deps), **more)


def delivered(event: E, event_id: str = "", rev: int = 1) -> E:
    """The event as a handler receives it; two calls are two events unless `event_id` says otherwise."""
    meta = EventMeta(event_id or f"evt_test_{next(_numbers)}", "/easyloop/test", TIME, rev)
    return event.delivered(meta)  # type: ignore[return-value]  # the copy has the class of the original


def record_of(event: Event, topic: str = "test.events", offset: int = 0, event_id: str = "") -> Record:
    """The event as the bus hands it over."""
    key, value, headers = encode(
        event,
        event_id=event_id or f"evt_test_{next(_numbers)}",
        source="/easyloop/test",
        time=TIME,
        rev=1,
        traceparent=None,
    )
    return Record(topic, 0, offset, key, value, headers)


def dispatcher(deps: Deps, handlers: Handlers, policy: RetryPolicy | None = None) -> Dispatcher:
    """A dispatcher with the service's handlers."""
    return Dispatcher(handlers, deps, Failures(deps, policy or RetryPolicy()))


async def emitted(deps: Deps) -> list[Event]:
    """What the outbox holds, in the order of emission."""
    rows = sorted(await deps.database.find(OUTBOX, {}), key=lambda row: str(row["_id"]))
    return [EVENTS[row["type"]].model_validate_json(row["data"]) for row in rows]


def a_blob(name: str = "a", size: int = 3) -> BlobRef:
    """A reference to a blob that need not exist."""
    return BlobRef(key=f"projects/prj_default/{name}", size=size, sha256="0" * 64)
