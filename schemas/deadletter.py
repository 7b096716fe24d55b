"""Events that a service gave up on. Each service writes its own `<service>.deadletters`."""

from typing import ClassVar

from pydantic import NonNegativeInt

from schemas.base import Event, Failure


class EventDeadLettered(Event):
    """The event's handler failed for good. The event itself stays in the service's failures and can be replayed."""

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
