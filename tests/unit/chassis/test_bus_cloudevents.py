"""Events to CloudEvents messages and back."""

import json
from typing import Any

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event

from chassis.bus.cloudevents import MAX_VALUE_BYTES, check_size, decode, encode, header, trace_headers
from chassis.bus.ports import Headers, Record
from chassis.errors import PermanentError
from schemas.base import EventMeta
from schemas.run import RunStageChanged

EVENT = RunStageChanged(run_id="run_苹果", previous="requested", state="searching")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def record(headers: dict[str, bytes | None] | None = None, **changes: Any) -> Record:
    """EVENT as received, with some headers replaced (None takes one away) and some fields."""
    key, value, made = encode(
        EVENT, event_id="evt_1", source="/easyloop/registry", time="2026-11-30T12:00:00.000Z", rev=7, traceparent=TRACE
    )
    merged = {**dict(made), **(headers or {})}
    kept: Headers = tuple((name, content) for name, content in merged.items() if content is not None)
    return Record(**{"topic": "t", "partition": 1, "offset": 5, "key": key, "value": value, "headers": kept, **changes})


def test_an_event_survives_the_way() -> None:
    event = decode(record())

    assert event.model_dump() == EVENT.model_dump()
    assert event.meta == EventMeta(id="evt_1", source="/easyloop/registry", time="2026-11-30T12:00:00.000Z", rev=7)


def test_a_message_is_in_binary_mode() -> None:
    message = record()

    assert message.key == "run_苹果".encode()
    assert json.loads(message.value or b"") == EVENT.model_dump()
    assert dict(message.headers) == {
        "ce_specversion": b"1.0",
        "ce_id": b"evt_1",
        "ce_source": b"/easyloop/registry",
        "ce_type": b"easyloop.run.stage.changed.v1",
        "ce_subject": "run_苹果".encode(),
        "ce_time": b"2026-11-30T12:00:00.000Z",
        "ce_partitionkey": "run_苹果".encode(),
        "ce_rev": b"7",
        "content-type": b"application/json",
        "traceparent": TRACE.encode(),
    }


def test_the_package_of_the_standard_reads_it() -> None:
    message = record()

    event = from_binary_event(KafkaMessage(dict(message.headers), message.key, message.value or b""))

    assert (event.get_type(), event.get_extension("rev")) == (EVENT.TYPE, "7")


def test_trace_context_is_taken_from_its_own_headers() -> None:
    assert trace_headers(record({"tracestate": b"vendor=1"})) == {"traceparent": TRACE, "tracestate": "vendor=1"}
    assert trace_headers(record({"traceparent": None})) == {}
    assert trace_headers(record({"traceparent": b"\xff"})) == {}


def test_a_header_can_be_looked_at_in_a_malformed_record() -> None:
    assert header(record(value=b"{"), "ce_id") == "evt_1"
    assert header(record(), "ce_absent") is None


def test_unknown_fields_are_ignored() -> None:
    event = decode(record(value=json.dumps({**EVENT.model_dump(), "later": 1}).encode()))

    assert event.model_dump() == EVENT.model_dump()


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_specversion", "ce_type", "ce_time", "ce_rev"])
def test_a_missing_header_is_named(name: str) -> None:
    with pytest.raises(PermanentError, match=rf"t/1@5.*{name}") as caught:
        decode(record({name: None}))
    assert caught.value.code == "malformed_event"


@pytest.mark.parametrize(
    "received",
    [
        record(value=None),
        record(value=b""),
        record(value=b"{"),
        record(value=b"[1]"),
        record(value=b"\xff\xfe"),
        record(key=None),
        record(key=b"\xff"),
        record({"ce_time": b"yesterday"}),
        record({"ce_time": b"2026-11-30T12:00:00"}),
        record({"ce_rev": b"seven"}),
        record({"ce_rev": b"-1"}),
        record({"ce_specversion": b"0.2"}),
        record({"ce_id": b"\xff"}),
        record({"ce_bad-name": b"x"}),
    ],
)
def test_what_is_no_event_is_malformed(received: Record) -> None:
    with pytest.raises(PermanentError, match="t/1@5") as caught:
        decode(received)
    assert caught.value.code == "malformed_event"


def test_an_unknown_type_is_told_before_its_fields() -> None:
    with pytest.raises(PermanentError, match=r"easyloop\.run\.ended\.v9") as caught:
        decode(record({"ce_type": b"easyloop.run.ended.v9"}, value=b"{}"))
    assert caught.value.code == "unknown_event_type"


def test_a_wrong_field_is_named() -> None:
    with pytest.raises(PermanentError, match=r"run_id: .*; state: ") as caught:
        decode(record(value=b'{"previous": "requested", "state": "sleeping"}'))
    assert caught.value.code == "invalid_event"


def test_a_large_event_is_refused_where_it_is_made() -> None:
    check_size(EVENT)
    with pytest.raises(PermanentError, match="chunks") as caught:
        check_size(EVENT.model_copy(update={"run_id": "x" * MAX_VALUE_BYTES}))
    assert caught.value.code == "event_too_large"
