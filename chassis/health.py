"""`/health/live`, `/health/ready` and `/metrics` of a service that has no other HTTP interface."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext

import uvicorn
from prometheus_client import make_asgi_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from chassis.errors import ServerUnavailable

Probe = Callable[[], Awaitable[None]]
PROBE_TIMEOUT_S = 3.0


async def failing_probes(probes: Mapping[str, Probe]) -> dict[str, str]:
    """Name -> why, for each server that does not answer now."""
    outcomes = await asyncio.gather(*(_ask(probe) for probe in probes.values()))
    return {name: why for name, why in zip(probes, outcomes, strict=True) if why is not None}


async def _ask(probe: Probe) -> str | None:
    try:
        await asyncio.wait_for(probe(), PROBE_TIMEOUT_S)
    except ServerUnavailable as error:
        return error.sentence
    except TimeoutError:
        return f"no answer within {PROBE_TIMEOUT_S:.0f} s"
    return None


def health_routes(probes: Mapping[str, Probe]) -> list[Route | Mount]:
    """Live as long as the event loop turns; ready while every server this service stands on answers."""

    async def live(_: Request) -> JSONResponse:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> JSONResponse:
        waiting_for = await failing_probes(probes)
        return JSONResponse(
            {"status": "waiting" if waiting_for else "ready", "waiting_for": waiting_for},
            status_code=503 if waiting_for else 200,
        )

    return [Route("/health/live", live), Route("/health/ready", ready), Mount("/metrics", make_asgi_app())]


def health_server(probes: Mapping[str, Probe], host: str, port: int) -> uvicorn.Server:
    """Listens on `host`; not started yet."""
    return quiet_server(Starlette(routes=health_routes(probes)), host, port)


class _SignalFreeServer(uvicorn.Server):
    """The runtime handles signals for the whole process."""

    def capture_signals(self):  # type: ignore[no-untyped-def]
        return nullcontext()


def quiet_server(app: object, host: str, port: int) -> uvicorn.Server:
    """A server for an ASGI application that leaves signals alone and logs no request; not started yet."""
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]  # uvicorn's union of application types has no public name
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=10,
    )
    return _SignalFreeServer(config)
