"""Refuses large bodies where none are expected, before anything reads them into memory."""

import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.api.problems import BodyTooLarge, body_too_large

LIMIT = 1 << 20
# These routes stream their bodies and know their own limits.
STREAMING = re.compile(r"^/v1/(datasets/[^/]+/imports|uploads/[^/]+/parts/[^/]+|models/[^/]+/predict)$")


class BodyLimit:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or STREAMING.match(scope["path"]):
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdigit() and int(announced) > LIMIT:
            await body_too_large(Request(scope), LIMIT)(scope, receive, send)
            return
        await self._app(scope, _counted(receive), send)


def _counted(receive: Receive) -> Receive:
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LIMIT:
            raise BodyTooLarge(LIMIT)
        return message

    return counted
