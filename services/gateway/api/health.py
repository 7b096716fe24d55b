"""/health/live, /health/ready and /metrics, without a key, as on every service."""

from fastapi import APIRouter, FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from chassis.health import failing_probes
from services.gateway.api.context import Context

router = APIRouter(tags=["health"])


class Live(BaseModel):
    """The event loop turns."""

    status: str = "live"


class Ready(BaseModel):
    """`waiting_for` names each server that does not answer, with the reason."""

    status: str
    waiting_for: dict[str, str] = {}


@router.get("/health/live", summary="Is the process alive?")
async def live() -> Live:
    """As long as it answers."""
    return Live()


@router.get("/health/ready", summary="Can it do its work?", responses={503: {"model": Ready, "description": "Waiting"}})
async def ready(context: Context, response: Response) -> Ready:
    """While every server it stands on answers."""
    waiting_for = await failing_probes(context.probes)
    if not waiting_for and not context.prepared():
        waiting_for = {"indexes": "they are being made"}
    response.status_code = 503 if waiting_for else 200
    return Ready(status="waiting" if waiting_for else "ready", waiting_for=waiting_for)


@router.get("/metrics", summary="Metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics() -> Response:
    """In the text format of Prometheus."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def install(app: FastAPI) -> None:
    """Add the routes."""
    app.include_router(router)
