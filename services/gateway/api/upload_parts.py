"""/v1/uploads/{id}/parts/{n}: receiving one part of an upload."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from starlette.requests import ClientDisconnect

from chassis.blobs.sessions import SessionGone
from services.gateway.api.content_digest import refuse_other_content
from services.gateway.api.context import Context, media_type
from services.gateway.api.imports import refuse_no_file
from services.gateway.api.problems import ApiError, problems
from services.gateway.api.upload_reading import find_open, lost
from services.gateway.api.upload_views import UploadPart
from services.gateway.receiving import TooLarge, received
from services.gateway.uploads import note_part

router = APIRouter(tags=["uploads"])

UploadId = Annotated[str, Path(description="id of the upload", examples=["upl_01JQ8"])]
Number = Annotated[int, Path(ge=1, description="number of the part, beginning at 1")]
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.put(
    "/v1/uploads/{upload_id}/parts/{number}",
    summary="Send a part",
    responses=problems(400, 404, 409, 415, 422),
    openapi_extra=BODY,
)
async def put_part(
    upload_id: UploadId,
    number: Number,
    request: Request,
    context: Context,
    content_digest: Annotated[
        str | None, Header(description="RFC 9530, e.g. `sha-256=:<base64>:`; other content is refused")
    ] = None,
) -> UploadPart:
    """The raw bytes, with exactly the length that the part has; sent again it replaces what was there."""
    upload = await find_open(context.deps, upload_id)
    if number > upload.part_count:
        sentence = f"Upload {upload_id} has parts 1 to {upload.part_count}; there is no part {number}."
        raise ApiError(422, "part_unknown", sentence)
    refuse_no_file(media_type(request))
    length = upload.length_of(number)
    _refuse_announced(request, number, length)
    try:
        async with received(request.stream(), context.settings.scratch_dir, length) as part:
            if part.size != length:
                raise _wrong_length(number, length, f"{part.size}")
            refuse_other_content(content_digest, part.sha256, f"Part {number}")
            stored = await asyncio.to_thread(context.deps.sessions.put_part, upload.session, number, part.path)
        if not await note_part(context.deps.database, upload_id, stored):
            raise SessionGone
        return UploadPart(number=number, size=part.size, sha256=part.sha256)
    except TooLarge:
        raise _wrong_length(number, length, "more") from None
    except SessionGone:
        await find_open(context.deps, upload_id)  # says so if it was completed or given up meanwhile
        raise lost(upload) from None
    except ClientDisconnect:
        raise ApiError(400, "client_gone", f"Part {number} broke off; send it again.") from None


def _refuse_announced(request: Request, number: int, length: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) != length:
        raise _wrong_length(number, length, announced)


def _wrong_length(number: int, length: int, given: str) -> ApiError:
    sentence = f"Part {number} has {length} bytes, this body has {given}; cut the file at multiples of `part_size`."
    return ApiError(400, "part_length_wrong", sentence)
