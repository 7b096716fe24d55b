"""The files of a prediction request: a form with one or several, JSON with one in base64, or the raw file."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from services.gateway.api.context import media_type
from services.gateway.api.problems import ApiError
from services.gateway.multipart import MultipartBroken, PartBegun, PartData, PartEnded, boundary_of, parts

FIELD = "file"
JSON_SLACK = 4096

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FIELD],
                    "properties": {FIELD: {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            },
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["image"],
                    "properties": {"image": {"type": "string", "format": "byte", "description": "the file in base64"}},
                }
            },
            "image/*": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@dataclass(frozen=True)
class Sent:
    """One file. `name` is None where the caller gave none."""

    name: str | None
    content: bytes


@dataclass(frozen=True)
class Limits:
    """`file_bytes` is of one file, `files` of one request."""

    file_bytes: int
    files: int


async def read_files(request: Request, limits: Limits) -> list[Sent]:
    """At least one file. Raises the problems 400, 413, 415 and 422."""
    content_type, kind = request.headers.get("content-type", ""), media_type(request)
    if kind == "multipart/form-data":
        return await _from_form(request, content_type, limits)
    if kind == "application/json":
        text = await _whole(request.stream(), limits.file_bytes * 4 // 3 + JSON_SLACK, limits)
        return [Sent(None, _from_json(text, limits))]
    if kind.startswith("image/") or kind == "application/octet-stream":
        return [Sent(None, await _whole(request.stream(), limits.file_bytes, limits))]
    detail = (
        f"A body of type {kind or 'none'!r} is not understood; send a form with files, JSON with 'image', or the file."
    )
    raise ApiError(415, "media_type_unsupported", detail)


async def _from_form(request: Request, content_type: str, limits: Limits) -> list[Sent]:
    boundary = boundary_of(content_type)
    if boundary is None:
        raise ApiError(400, "multipart_invalid", "The form's content type names no boundary; let your client set it.")
    form = _Form(limits)
    try:
        async for event in parts(request.stream(), boundary):
            form.take(event)
    except MultipartBroken as error:
        raise ApiError(400, "multipart_invalid", f"The form is not valid: {error}; send it again.") from error
    if not form.files:
        raise ApiError(422, "file_missing", f"The form has no field '{FIELD}'; put each file in one of that name.")
    return form.files


class _Form:
    """Collects the files of a form as they come in."""

    def __init__(self, limits: Limits) -> None:
        self.files: list[Sent] = []
        self._limits = limits
        self._name: str | None = None
        self._content: bytearray | None = None

    def take(self, event: PartBegun | PartData | PartEnded) -> None:
        match event:
            case PartBegun(name=name, file_name=file_name):
                self._begin(name, file_name)
            case PartData(content=content) if self._content is not None:
                self._content += content
                if len(self._content) > self._limits.file_bytes:
                    raise _too_large(self._name, self._limits)
            case PartEnded() if self._content is not None:
                self.files.append(Sent(self._name, bytes(self._content)))
                self._content = None

    def _begin(self, name: str, file_name: str | None) -> None:
        if name != FIELD:
            return
        if len(self.files) == self._limits.files:
            detail = f"The form has more than {self._limits.files} files; send them in several requests."
            raise ApiError(413, "too_many_files", detail)
        self._name, self._content = file_name, bytearray()


async def _whole(stream: AsyncIterator[bytes], most: int, limits: Limits) -> bytes:
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > most:
            raise _too_large(None, limits)
    return bytes(body)


def _from_json(text: bytes, limits: Limits) -> bytes:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "json_invalid", f"The body is not JSON: {error}.") from error
    image = document.get("image") if isinstance(document, dict) else None
    if not isinstance(image, str):
        raise ApiError(422, "image_missing", "The JSON has no text field 'image'; put the file there, in base64.")
    try:
        content = base64.b64decode(image.rpartition(";base64,")[2], validate=True)
    except ValueError as error:  # binascii.Error is one; letters beyond ASCII raise the plain kind
        raise ApiError(
            422, "base64_invalid", f"The field 'image' is not base64: {error}; encode the file's bytes."
        ) from error
    if len(content) > limits.file_bytes:
        raise _too_large(None, limits)
    return content


def _too_large(name: str | None, limits: Limits) -> ApiError:
    detail = f"{name or 'The file'} has more than {limits.file_bytes / 1e6:.1f} MB; send a smaller one."
    return ApiError(413, "file_too_large", detail)
