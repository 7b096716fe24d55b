"""A trace goes on through the outbox and the bus: send is a child of what emitted, process a child of send."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chassis.bus.fake import FakeBrokers, FakeBus, FakeConsumer, FakeProducer
from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.leases import LeaderLease
from chassis.lost_rows import LostRows
from chassis.relay import OutboxRelay
from chassis.telemetry import work_span
from schemas.dataset import DatasetCreated
from tests.builders import build_deps, dispatcher


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


async def seen(event: DatasetCreated, deps: Deps) -> None:
    async with deps.unit_of_work(cause=event):
        pass


async def test_one_tree_from_the_emitter_to_the_handler(spans: InMemorySpanExporter) -> None:
    writer, reader, bus = build_deps("ingest"), build_deps("preprocess"), FakeBus()
    with work_span("upload", None, {}):
        async with writer.unit_of_work() as tx:
            tx.emit(DatasetCreated(dataset_id="ds_1", name="tiles", task="image_classification", auto_train="off"))
    lease = LeaderLease(writer.database, "outbox-relay", "one", FakeClock())
    producer = FakeProducer(bus)
    lost = LostRows(writer.database, producer, FakeBrokers(bus), writer.clock, ())
    relay = OutboxRelay("ingest", writer.database, producer, lease, writer.clock, writer.relay_wake, lost)
    await relay.send_pending()
    for record in await FakeConsumer(bus, "preprocess", ["ingest.events"]).poll(0):
        await dispatcher(reader, {DatasetCreated: seen}).deliver(record)
    upload, send, process = (named(spans, name) for name in ("upload", "send ingest.events", "process ingest.events"))
    assert parent_id(send) == span_id(upload)
    assert parent_id(process) == span_id(send)
    assert process.attributes is not None
    assert process.attributes["cloudevents.event_type"] == DatasetCreated.TYPE


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (span,) = [span for span in spans.get_finished_spans() if span.name == name]
    return span


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def parent_id(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None
