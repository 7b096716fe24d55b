"""What the platform answers about itself: what it gave up on, and how it is."""

from typing import Any, Literal

from pydantic import Field

from easyloop.answers import Answer, Failure


class Check(Answer):
    """One thing that was looked at; `remedy` is empty where there is nothing to do."""

    name: str
    status: Literal["ok", "warning", "error"]
    found: str
    remedy: str = ""


class Doctor(Answer):
    """`status` is that of the worst check."""

    status: Literal["ok", "warning", "error"]
    checks: list[Check]


class DeadLetter(Answer):
    """An event that a service gave up on. `status` is no longer `dead` once it is replayed."""

    id: str
    service: str
    status: Literal["dead", "retrying", "parked", "done"]
    event_id: str
    event_type: str
    key: str
    failure: Failure
    attempts: int
    replays: int = 0
    dead_at: str | None = None


class WaitingEvent(Answer):
    """An event that waits behind another of its key."""

    id: str
    status: str
    event_type: str


class DeadLetterDetail(DeadLetter):
    """With the event itself; `obstacle` says why a replay would be refused."""

    topic: str
    partition: int
    offset: int
    headers: dict[str, str]
    data: dict[str, Any] | str | None
    waiting: list[WaitingEvent] = Field(default_factory=list)
    obstacle: Failure | None = None
