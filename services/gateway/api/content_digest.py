"""The Content-Digest of a body (RFC 9530): only sha-256 is judged, other algorithms are left to others."""

import base64
import binascii
import re

from services.gateway.api.problems import ApiError

SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):")


def refuse_other_content(header: str | None, sha256: str, what: str) -> None:
    """Raises the 400 problem when the header names another hash than `sha256` (lower-case hex), or none that is one."""
    found = SHA256.search(header) if header else None
    if header is None or (found is None and "sha-256" not in header):
        return
    try:
        announced = base64.b64decode(found.group(1), validate=True).hex() if found else ""
    except binascii.Error:
        announced = ""
    if len(announced) != 64:
        sentence = f"Content-Digest {header!r} holds no hash; send sha-256=:<base64>:, or leave it out."
        raise ApiError(400, "digest_invalid", sentence)
    if announced != sha256:
        sentence = f"{what} hashes to {sha256}, its Content-Digest says {announced}; send it again."
        raise ApiError(400, "digest_wrong", sentence)
