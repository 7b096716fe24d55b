"""`/`: the web console. Plain files; all that they show comes from the addresses under /v1."""

import base64
import hashlib
import re
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent.parent / "console"
PAGE = FOLDER / "index.html"
INLINE = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


class _Files(StaticFiles):
    """Static files under the headers of the page."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__(directory=FOLDER)
        self._headers = headers

    async def get_response(self, path: str, scope: Scope) -> Response:
        """See StaticFiles; also a 304 carries them."""
        answer = await super().get_response(path, scope)
        answer.headers.update(self._headers)
        return answer


def install(app: FastAPI) -> None:
    """Add the page and its files; they are no part of the API's document."""
    headers = {
        "Content-Security-Policy": content_policy(PAGE.read_text(encoding="utf-8")),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",  # asked for anew each time, answered 304: an update is there at once
    }

    async def page(_: Request) -> Response:
        return FileResponse(PAGE, headers=headers)

    app.add_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/console", _Files(headers))


def content_policy(page: str) -> str:
    """Nothing from other origins; of what stands in the page itself, the map of module names alone."""
    hashes = [_digest(script) for script in INLINE.findall(page)]
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *hashes)),
            "style-src 'self'",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _digest(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
