"""Events that a service gave up on, and the asking for another attempt. Each service writes its own dead letters."""

from typing import ClassVar

from pydantic import NonNegativeInt

from schemas.base import Event, Failure


class EventDeadLettered(Event):
    """The event's handler failed for good. It stays in the service's failures as `failure_id`, to be replayed."""

    TYPE: ClassVar[str] = "easyloop.event.deadlettered.v1"
    KEY: ClassVar[str] = "event_key"

    service: str
    event_id: str
    event_type: str
    event_key: str
    topic: str
    partition: NonNegativeInt
    offset: NonNegativeInt
    attempts: NonNegativeInt
    failure: Failure
    failure_id: str | None = None


class DeadLetterReplayRequested(Event):
    """Someone asks the service to try again what it gave up on, from the first attempt."""

    TYPE: ClassVar[str] = "easyloop.deadletter.replay.requested.v1"
    KEY: ClassVar[str] = "failure_id"

    service: str
    failure_id: str
    actor: str = "admin"
