"""Traces. Context travels in Kafka headers and outbox rows as W3C traceparent; names stand here, in one list.

Span names and attributes follow the OpenTelemetry semantic conventions for messaging (in development, v1.45). A
process span is the child of the span that sent the message, not merely linked to it: users read a link as a lost trace.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from chassis.bus.ports import Record

EXPORT_INTERVAL_MS = 500

MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.name"
MESSAGING_OPERATION_TYPE = "messaging.operation.type"
MESSAGING_DESTINATION = "messaging.destination.name"
MESSAGING_PARTITION = "messaging.destination.partition.id"
MESSAGING_GROUP = "messaging.consumer.group.name"
KAFKA_OFFSET = "messaging.kafka.offset"
KAFKA_KEY = "messaging.kafka.message.key"
EVENT_ID = "cloudevents.event_id"
EVENT_TYPE = "cloudevents.event_type"
JOB_ID = "easyloop.job_id"
JOB_ATTEMPT = "easyloop.job_attempt"

_tracer = trace.get_tracer("easyloop")


def start_tracing(service: str, *, otlp_endpoint: str | None, trace_dir: Path) -> TracerProvider:
    """Send spans to the collector where one is set, otherwise to an OTLP-JSON file under `trace_dir`."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(
        BatchSpanProcessor(_exporter(service, otlp_endpoint, trace_dir), schedule_delay_millis=EXPORT_INTERVAL_MS)
    )
    trace.set_tracer_provider(provider)
    return provider


def _exporter(service: str, otlp_endpoint: str | None, trace_dir: Path) -> SpanExporter:
    if otlp_endpoint:
        return OTLPSpanExporter(endpoint=f"{otlp_endpoint.rstrip('/')}/v1/traces")
    trace_dir.mkdir(parents=True, exist_ok=True)
    return FileSpanExporter(trace_dir / f"{service}-{os.getpid()}.jsonl")


def current_traceparent() -> str | None:
    """The active span as a W3C traceparent, None outside any span."""
    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier.get("traceparent")


def current_trace_id() -> str | None:
    """The active trace's id as 32 hex digits, None outside any span."""
    context = trace.get_current_span().get_span_context()
    return format(context.trace_id, "032x") if context.is_valid else None


def context_of(traceparent: str | None) -> Context:
    """The context that a traceparent describes; an empty one for None."""
    return extract({"traceparent": traceparent} if traceparent else {})


@contextmanager
def send_span(topic: str, key: str, event_type: str, traceparent: str | None) -> Iterator[Span]:
    """The sending of one message, as a child of what emitted it."""
    attributes = {
        MESSAGING_SYSTEM: "kafka",
        MESSAGING_OPERATION: "send",
        MESSAGING_OPERATION_TYPE: "send",
        MESSAGING_DESTINATION: topic,
        KAFKA_KEY: key,
        EVENT_TYPE: event_type,
    }
    with _span(f"send {topic}", SpanKind.PRODUCER, context_of(traceparent), attributes) as span:
        yield span


@contextmanager
def process_span(
    record: Record, group: str, event_id: str, event_type: str, headers: Mapping[str, str]
) -> Iterator[Span]:
    """The handling of one message, as a child of its sending; `headers` is the trace context that came with it."""
    attributes: dict[str, str | int] = {
        MESSAGING_SYSTEM: "kafka",
        MESSAGING_OPERATION: "process",
        MESSAGING_OPERATION_TYPE: "process",
        MESSAGING_DESTINATION: record.topic,
        MESSAGING_PARTITION: str(record.partition),
        MESSAGING_GROUP: group,
        KAFKA_OFFSET: record.offset,
        EVENT_ID: event_id,
        EVENT_TYPE: event_type,
    }
    with _span(f"process {record.topic}", SpanKind.CONSUMER, extract(headers), attributes) as span:
        yield span


@contextmanager
def work_span(name: str, traceparent: str | None, attributes: Mapping[str, str | int]) -> Iterator[Span]:
    """A piece of long work, as a child of what asked for it."""
    with _span(name, SpanKind.INTERNAL, context_of(traceparent), attributes) as span:
        yield span


@contextmanager
def _span(name: str, kind: SpanKind, context: Context, attributes: Mapping[str, str | int]) -> Iterator[Span]:
    with _tracer.start_as_current_span(name, context=context, kind=kind, attributes=dict(attributes)) as span:
        yield span


def record_failure(span: Span, code: str, sentence: str) -> None:
    """Mark the span as failed, with our code and sentence."""
    span.set_status(Status(StatusCode.ERROR, f"{code}: {sentence}"))
