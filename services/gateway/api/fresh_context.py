"""Each request begins with no trace context but the one it brings.

On a kept-alive connection uvicorn may start the task of the next request inside the context of the one before, whose
span would then become its parent.
"""

from opentelemetry import context
from opentelemetry.context import Context
from starlette.types import ASGIApp, Receive, Scope, Send


class FreshContext:
    """Wraps the whole application, tracing included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        token = context.attach(Context())
        try:
            await self._app(scope, receive, send)
        finally:
            context.detach(token)
