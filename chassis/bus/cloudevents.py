"""Events as CloudEvents 1.0 Kafka messages in binary mode, and back.

Attributes travel as `ce_` headers, the event's fields as a JSON value; the key is the event's key, also named by the
`partitionkey` extension. Our extension `rev` is the revision of the aggregate. Source: CloudEvents Kafka protocol
binding 1.0.2, section 3.2.
"""

from datetime import UTC, datetime
from typing import Any

from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, to_binary_event
from cloudevents.core.exceptions import BaseCloudEventException
from cloudevents.core.v1.event import CloudEvent
from pydantic import ValidationError

from chassis.bus.ports import Headers, Record
from chassis.errors import PermanentError
from schemas.base import Event, EventMeta
from schemas.catalog import EVENTS

MAX_VALUE_BYTES = 64_000
_REQUIRED = ("ce_id", "ce_source", "ce_specversion", "ce_type", "ce_time", "ce_rev")
_TRACE = ("traceparent", "tracestate")


def check_size(event: Event) -> None:
    """To be asked when an event is stored for sending: once stored it has to be sent.

    Raises PermanentError `event_too_large`: events carry ids and references, never data.
    """
    size = len(event.model_dump_json().encode())
    if size > MAX_VALUE_BYTES:
        raise PermanentError(
            "event_too_large",
            f"{event.TYPE} of {event.key} has {size} bytes, {MAX_VALUE_BYTES} are allowed; "
            "store what is large as a blob and refer to it, or split the list into chunks",
        )


def encode(
    event: Event, *, event_id: str, source: str, time: str, rev: int, traceparent: str | None
) -> tuple[bytes, bytes, Headers]:
    """Key, value and headers. `time` is RFC 3339 in UTC with milliseconds."""
    data = event.model_dump_json().encode()
    attributes: dict[str, Any] = {
        "id": event_id,
        "source": source,
        "type": event.TYPE,
        "subject": event.key,
        "time": datetime.fromisoformat(time),
        "datacontenttype": "application/json",
        "partitionkey": event.key,
        "rev": str(rev),
    }
    headers = to_binary_event(CloudEvent(attributes, data)).headers
    # The binding prints microseconds, or no fraction at all; readers get milliseconds always.
    headers["ce_time"] = time.encode()
    if traceparent is not None:
        headers["traceparent"] = traceparent.encode()
    return event.key.encode(), data, tuple(headers.items())


def decode(record: Record) -> Event:
    """The event with its `meta` set.

    Raises PermanentError: `malformed_event` (headers, JSON), `unknown_event_type`, `invalid_event` (fields).
    """
    message = _cloud_event(record)
    name = message.get_type()
    if name not in EVENTS:
        raise PermanentError(
            "unknown_event_type",
            f"{_place(record)}: {name!r} is no event this version knows; upgrade the reader, then replay the event",
        )
    data = message.get_data()
    if not isinstance(data, dict):
        raise _malformed(record, "its value is not a JSON object")
    try:
        event = EVENTS[name].model_validate(data)
    except ValidationError as error:
        raise PermanentError(
            "invalid_event", f"{_place(record)}: {name}: {_fields(error)}; correct its writer, then send it again"
        ) from error
    return event.delivered(_meta(record, message))


def trace_headers(record: Record) -> dict[str, str]:
    """The trace context that came with the record: `traceparent` and `tracestate` as far as they are there."""
    found = {name: header(record, name) for name in _TRACE}
    return {name: value for name, value in found.items() if value is not None}


def header(record: Record, name: str) -> str | None:
    """One header as text, None when absent or not UTF-8; for logs and failures, where a record may be malformed."""
    try:
        return next((value.decode() for key, value in record.headers if key == name), None)
    except UnicodeDecodeError:
        return None


def _cloud_event(record: Record) -> BaseCloudEvent:
    headers = dict(record.headers)
    if missing := [name for name in _REQUIRED if not headers.get(name)]:
        raise _malformed(record, f"it lacks the headers {', '.join(missing)}")
    if record.key is None:
        raise _malformed(record, "it has no key")
    try:
        return from_binary_event(KafkaMessage(headers=headers, key=record.key, value=record.value or b""))
    except (BaseCloudEventException, ValueError) as error:  # ValueError: not UTF-8, not a time
        raise _malformed(record, str(error)) from error


def _meta(record: Record, message: BaseCloudEvent) -> EventMeta:
    rev = str(message.get_extension("rev"))
    time = message.get_time()
    if not rev.isascii() or not rev.isdigit():
        raise _malformed(record, f"its ce_rev is {rev!r}, not a number")
    if time is None:
        raise _malformed(record, "it has no time")
    return EventMeta(id=message.get_id(), source=message.get_source(), time=_rfc3339(time), rev=int(rev))


def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'event'}: {fault['msg']}" for fault in error.errors()
    )


def _place(record: Record) -> str:
    return f"{record.topic}/{record.partition}@{record.offset}"


def _malformed(record: Record, reason: str) -> PermanentError:
    return PermanentError(
        "malformed_event",
        f"{_place(record)} is no CloudEvent of ours: {reason}; correct its writer, then send it again",
    )
