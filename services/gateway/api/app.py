"""The HTTP interface as one ASGI application over its context. Building it has no effect but the object."""

from typing import Any

from fastapi import Depends, FastAPI
from fastapi_offline import FastAPIOffline
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.trace import TracerProvider

from services.gateway.api import (
    console,
    datasets,
    deadletters,
    deletions,
    doctor,
    events,
    faults,
    health,
    imports,
    models,
    predict,
    publishing,
    runs,
    samples,
    session,
    upload_parts,
    uploads,
)
from services.gateway.api.body_limit import BodyLimit
from services.gateway.api.body_patience import BodyPatience
from services.gateway.api.context import ApiContext, require_admin, require_json, require_prepared
from services.gateway.api.problems import Problem, problems

VERSION = "1.0.0"
DESCRIPTION = (
    "Upload data, start training, see how good the model is, publish it, predict. Errors are problem documents "
    "(RFC 9457) with a stable code. What takes longer is answered 202 with the address to watch."
)
PARTS = (
    session,
    datasets,
    samples,
    imports,
    uploads,
    upload_parts,
    runs,
    events,
    models,
    publishing,
    predict,
    deletions,
    deadletters,
)
# Probes, streams that never end and this page itself would fill the traces with noise.
UNTRACED = "/console/,/health/,/metrics,/events,/trace$,/openapi.json,/docs,/static-offline-docs/"


def create_app(context: ApiContext, tracer_provider: TracerProvider | None = None) -> FastAPI:
    """Requests are traced where a provider is given."""
    # Its documentation page brings its own scripts: a machine without internet shows it too.
    app = FastAPIOffline(
        title="EasyLoop", version=VERSION, description=DESCRIPTION, redoc_url=None, redirect_slashes=False
    )
    app.state.context = context
    guards = [Depends(require_admin), Depends(require_prepared), Depends(require_json)]
    shared = problems(400, 401, 403, 408, 413, 415, 422, 500, 503)
    for part in PARTS:
        app.include_router(part.router, dependencies=guards, responses=shared)
    # Not held up by a start that waits for its servers: then it is wanted most.
    app.include_router(doctor.router, dependencies=[Depends(require_admin)], responses=problems(401, 403, 500))
    health.install(app)
    console.install(app)
    faults.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(BodyPatience, idle_s=context.settings.upload_idle_s)
    _document_problems(app)
    if tracer_provider is not None:
        FastAPIInstrumentor.instrument_app(
            app, tracer_provider=tracer_provider, excluded_urls=UNTRACED, exclude_spans=["receive", "send"]
        )
    return app


def _document_problems(app: FastAPI) -> None:
    """Add the problem document's schema, which routes refer to."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(schema.pop("$defs", {}))
        schemas["Problem"] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents for extending its document
