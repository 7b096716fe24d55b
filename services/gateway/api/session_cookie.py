"""The cookie that stands for the admin key in a browser, and what a request that carries it must fulfil.

The session is a signed end time: `<end, seconds since 1970>.<nonce>.<HMAC-SHA256>`, signed with the admin key. Nothing
is stored, so that every gateway takes it and a restart ends none; another admin key ends all.
"""

import hashlib
import hmac
import secrets
from datetime import datetime
from urllib.parse import urlsplit

from starlette.requests import Request

COOKIE = "easyloop_session"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def signed(key: str, ends_at: datetime) -> str:
    """A session until then."""
    told = f"{int(ends_at.timestamp())}.{secrets.token_hex(8)}"
    return f"{told}.{_signature(key, told)}"


def is_live(session: str, key: str, now: datetime) -> bool:
    """Whether the session was made with that key and lasts. The signature is compared in constant time."""
    told, _, signature = session.rpartition(".")
    if not hmac.compare_digest(_signature(key, told).encode(), signature.encode()):
        return False
    return int(told.partition(".")[0]) > now.timestamp()


def is_from_elsewhere(request: Request) -> bool:
    """Whether another site's page may have sent it: it changes something and does not say that it comes from here.

    Browsers put Origin on every request of an unsafe method, and no page can set it (Fetch standard, section 3.2).
    """
    if request.method in SAFE:
        return False
    return urlsplit(request.headers.get("origin", "")).netloc != request.headers.get("host")


def _signature(key: str, told: str) -> str:
    return hmac.new(key.encode(), told.encode(), hashlib.sha256).hexdigest()
