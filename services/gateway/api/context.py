"""What the routes are given, and who may call them."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from chassis.health import Probe
from services.gateway.api.problems import ApiError
from services.gateway.api.session_cookie import COOKIE, is_from_elsewhere, is_live
from services.gateway.deps import GatewayDeps
from services.gateway.examining import Examination
from services.gateway.model_pool import ModelPool
from services.gateway.predicting import PredictionPool
from services.gateway.settings import GatewaySettings


@dataclass(frozen=True)
class ApiContext:
    """`stopping` says that the server is on its way down, so that endless streams end.

    `prepared` says that the indexes are there: a transaction beside their making can hang the document store.
    """

    settings: GatewaySettings
    deps: GatewayDeps
    models: ModelPool
    predictions: PredictionPool
    probes: Mapping[str, Probe]
    examination: Examination
    stopping: Callable[[], bool] = lambda: False
    prepared: Callable[[], bool] = lambda: True


async def _context(request: Request) -> ApiContext:
    context: ApiContext = request.app.state.context
    return context


async def _deps(request: Request) -> GatewayDeps:
    return (await _context(request)).deps


Context = Annotated[ApiContext, Depends(_context)]
Stores = Annotated[GatewayDeps, Depends(_deps)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same key and the same request give the same answer for 24 hours.",
    ),
]

_bearer = HTTPBearer(auto_error=False, scheme_name="AdminKey", description="The admin key as a bearer token.")
_header = APIKeyHeader(
    name="X-API-Key",
    auto_error=False,
    scheme_name="AdminKeyHeader",
    description="The admin key in its own header.",
)
_cookie = APIKeyCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="Session",
    description="A browser's session, from POST /v1/session; what changes something must then come from this origin.",
)


async def require_prepared(context: Context) -> None:
    """Raises 503 while the gateway is still starting."""
    if not context.prepared():
        raise ApiError(503, "starting", "The gateway is starting; try again in a few seconds.", {"Retry-After": "1"})


async def require_json(request: Request) -> None:
    """Raises 415 for another body where the route reads JSON; routes that take files look for themselves."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or route.body_field is None or not _has_body(request):
        return
    kind = media_type(request)
    if kind != "application/json" and not kind.endswith("+json"):
        detail = f"A body of type {kind or 'none'!r} is not understood here; send JSON as application/json."
        raise ApiError(415, "media_type_unsupported", detail)


def media_type(request: Request) -> str:
    """Of the body, in lower case, without parameters; empty where the caller named none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"


async def require_admin(
    request: Request,
    context: Context,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    header: Annotated[str | None, Security(_header)],
    session: Annotated[str | None, Security(_cookie)],
) -> None:
    """Raises 401 without a key and 403 with a wrong one, compared in constant time. A key counts before a session."""
    given = bearer.credentials if bearer else header
    if not given and session:
        _require_session(request, context, session)
        return
    if not given:
        detail = "The request carries no key; send the admin key as 'Authorization: Bearer <key>' or as X-API-Key."
        raise ApiError(401, "key_missing", detail, {"WWW-Authenticate": "Bearer"})
    expected = context.settings.admin_key.get_secret_value()
    if not secrets.compare_digest(given.encode(), expected.encode()):
        raise ApiError(
            403,
            "key_wrong",
            "The key is not this platform's admin key; see secrets.json in its data folder.",
        )


def _require_session(request: Request, context: ApiContext, session: str) -> None:
    if not is_live(session, context.settings.admin_key.get_secret_value(), context.deps.clock.now()):
        detail = "The session is over; sign in again with the admin key."
        raise ApiError(401, "session_over", detail, {"WWW-Authenticate": "Bearer"})
    if is_from_elsewhere(request):
        detail = "The request comes from another site's page; use the console of this platform, or send the admin key."
        raise ApiError(403, "origin_foreign", detail)
