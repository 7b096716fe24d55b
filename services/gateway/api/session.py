"""/v1/session: a browser's sign-in, made from the admin key, so that a page never has to keep the key itself."""

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from chassis.clock import rfc3339
from services.gateway.api.context import Context
from services.gateway.api.session_cookie import COOKIE, signed

router = APIRouter(tags=["session"])

LASTS = timedelta(hours=12)
SET: dict[str, Any] = {"headers": {"Set-Cookie": {"description": "the session", "schema": {"type": "string"}}}}


class Session(BaseModel):
    """Who is signed in."""

    actor: str = Field(default="admin", description="who asks, for the history of what was published")


class NewSession(Session):
    """A session that was just begun."""

    ends_at: str = Field(description="when one has to sign in again", examples=["2026-01-01T12:00:00.000Z"])


@router.post("/v1/session", status_code=201, summary="Sign in", responses={201: SET})
async def sign_in(request: Request, response: Response, context: Context) -> NewSession:
    """With the admin key as for any request; the answer sets a cookie that scripts cannot read, good for 12 hours."""
    ends_at = context.deps.clock.now() + LASTS
    session = signed(context.settings.admin_key.get_secret_value(), ends_at)
    response.set_cookie(COOKIE, session, max_age=int(LASTS.total_seconds()), **_guards(request))
    return NewSession(ends_at=rfc3339(ends_at))


@router.get("/v1/session", summary="Am I signed in?")
async def get_session() -> Session:
    """Answered to a key as well as to a session."""
    return Session()


@router.delete("/v1/session", status_code=204, summary="Sign out", responses={204: SET})
async def sign_out(request: Request, response: Response) -> None:
    """The browser forgets the session."""
    response.delete_cookie(COOKIE, **_guards(request))


def _guards(request: Request) -> dict[str, Any]:
    """Sent to this host alone, never along with a request that another site causes, and readable by no script."""
    return {"httponly": True, "samesite": "strict", "secure": request.url.scheme == "https", "path": "/"}
