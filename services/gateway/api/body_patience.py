"""Gives a request up whose body stopped coming, however long it may take as a whole."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.api.problems import BodyStalled


class BodyPatience:
    """ASGI middleware. The clock runs only while somebody waits for the body, not while its bytes are worked on."""

    def __init__(self, app: ASGIApp, idle_s: float) -> None:
        self._app = app
        self._idle_s = idle_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        is_http = scope["type"] == "http"
        await self._app(scope, _impatient(receive, self._idle_s) if is_http else receive, send)


def _impatient(receive: Receive, idle_s: float) -> Receive:
    is_complete = False

    async def impatient() -> Message:
        nonlocal is_complete
        if is_complete:  # what comes now is that the client leaves, which may take as long as it likes
            return await receive()
        try:
            async with asyncio.timeout(idle_s):
                message = await receive()
        except TimeoutError:
            raise BodyStalled(idle_s) from None
        is_complete = not message.get("more_body", False)
        return message

    return impatient
