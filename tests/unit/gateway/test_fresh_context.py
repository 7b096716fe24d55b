"""A request is never the child of the request before it."""

import httpx
from fastapi import FastAPI
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from services.gateway.api.fresh_context import FreshContext

BROUGHT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_only_the_context_that_a_request_brings_is_its_parent() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app = FastAPI()
    FastAPIInstrumentor.instrument_app(app, tracer_provider=provider, exclude_spans=["receive", "send"])
    transport = httpx.ASGITransport(FreshContext(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        # The transport runs the application inside the caller's context, as uvicorn may inside the last request's.
        with provider.get_tracer("test").start_as_current_span("the request before"):
            await client.get("/alone")
            await client.get("/brought", headers={"traceparent": BROUGHT})
    alone, brought, _ = exporter.get_finished_spans()
    assert alone.parent is None
    assert brought.parent is not None
    assert format(brought.parent.span_id, "016x") == BROUGHT.split("-")[2]
