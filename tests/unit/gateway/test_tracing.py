"""Requests are traced, and what they emit carries their span."""

from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from chassis.unit_of_work import OUTBOX
from services.gateway.api.app import create_app
from tests.unit.gateway.building import Gateway


async def test_an_emitted_event_is_a_child_of_its_request(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    gateway = Gateway(tmp_path)
    gateway.app = create_app(gateway.app.state.context, provider)
    async with gateway.client() as client:
        await client.get("/health/live")
        await client.post("/v1/datasets", json={"name": "fruit"})
    [span] = exporter.get_finished_spans()
    assert (span.kind, span.name) == (SpanKind.SERVER, "POST /v1/datasets")
    [row] = await gateway.database.find(OUTBOX, {})
    assert span.context is not None
    assert row["traceparent"].startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-")
