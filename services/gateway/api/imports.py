"""/v1/datasets/{id}/imports: receiving archives."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.requests import ClientDisconnect

from chassis.clock import rfc3339
from chassis.unit_of_work import UnitOfWork
from schemas.base import DEFAULT_PROJECT, BlobRef
from schemas.requests import ImportRequested
from services.gateway.api import data_reading
from services.gateway.api.context import Context, IdempotencyKey, Stores, media_type
from services.gateway.api.data_views import Import, import_view
from services.gateway.api.datasets import LOCATION, DatasetId
from services.gateway.api.deletion_rules import refuse_while_deleting
from services.gateway.api.problems import ApiError, problems
from services.gateway.deps import GatewayDeps
from services.gateway.multipart import MultipartBroken, PartBegun, PartData, PartEnded, boundary_of, parts
from services.gateway.receiving import Received, TooLarge, received
from services.gateway.requests import ImportRequest
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["imports"])

FIELD = "file"
MEDIA_TYPE = "application/zip"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FIELD],
                    "properties": {FIELD: {"type": "string", "format": "binary"}},
                }
            },
        },
    }
}


@dataclass
class _Archive:
    """The archive within a request's body; `file_name` is known once the content was read."""

    request: Request
    file_name: str | None = None
    found: bool = field(default=False)

    async def content(self) -> AsyncIterator[bytes]:
        """The archive's bytes. Raises MultipartBroken."""
        boundary = boundary_of(self.request.headers.get("content-type", ""))
        body = self.request.stream()
        if boundary is None:
            self.found = True
            async for chunk in body:
                yield chunk
            return
        inside = False
        async for event in parts(body, boundary):
            match event:
                case PartBegun(name=name, file_name=file_name):
                    inside = name == FIELD and not self.found
                    if inside:
                        self.found, self.file_name = True, file_name
                case PartData(content=content) if inside:
                    yield content
                case PartEnded():
                    inside = False


@dataclass(frozen=True)
class _Asked:
    """What was said about the archive."""

    dataset_id: str
    file_name: str
    label: str | None


@router.post(
    "/v1/datasets/{dataset_id}/imports",
    status_code=202,
    summary="Upload an archive",
    responses={**LOCATION, **problems(400, 404, 409, 413, 415, 422)},
    openapi_extra=BODY,
)
async def create_import(
    dataset_id: DatasetId,
    request: Request,
    response: Response,
    context: Context,
    file_name: Annotated[str | None, Query(min_length=1, max_length=1024, examples=["fruit.zip"])] = None,
    label: Annotated[
        str | None, Query(min_length=1, max_length=255, description="class of a single file, or of files in no folder")
    ] = None,
    key: IdempotencyKey = None,
) -> Import:
    """A zip or tar with one folder a class, or one picture with its `label`; raw, or as form field `file`."""
    await data_reading.get_dataset(context.deps, dataset_id)
    archive = _Archive(request)
    limit = context.settings.upload_max_bytes
    if media_type(request) != "multipart/form-data":
        refuse_no_file(media_type(request))
    _refuse_announced(request, limit)
    try:
        async with received(archive.content(), context.settings.scratch_dir, limit) as upload:
            _refuse_empty(archive, upload)
            name = (file_name or archive.file_name or "archive.zip")[-1024:]
            blob = await asyncio.to_thread(context.deps.blobs.put_file, DEFAULT_PROJECT, upload.path, MEDIA_TYPE)
    except TooLarge:
        raise too_large(limit) from None
    except MultipartBroken as error:
        raise ApiError(400, "multipart_invalid", f"The form is not valid: {error}; send it again.") from error
    except ClientDisconnect:
        raise ApiError(400, "client_gone", "The upload broke off; send the archive again.") from None
    accepted = await _store(context.deps, _Asked(dataset_id, name, label), blob, key)
    response.headers["Location"] = accepted.location
    return Import.model_validate(accepted.answer)


@router.get("/v1/datasets/{dataset_id}/imports/{import_id}", summary="Show an import", responses=problems(404))
async def get_import(dataset_id: DatasetId, import_id: str, deps: Stores) -> Import:
    """How far it is, and why it was rejected if it was."""
    return await data_reading.get_import(deps, dataset_id, import_id)


async def _store(deps: GatewayDeps, call: _Asked, blob: BlobRef, key: str | None) -> Accepted:
    dataset_id, name = call.dataset_id, call.file_name

    async def write(tx: UnitOfWork) -> Accepted:
        await refuse_while_deleting(deps, tx.documents, dataset_id)
        asked = ImportRequest(
            id=deps.ids.new("imp"),
            dataset_id=dataset_id,
            file_name=name,
            archive=blob,
            created_at=rfc3339(deps.clock.now()),
        )
        await tx.records(ImportRequest).add(asked)
        tx.emit(
            ImportRequested(dataset_id=dataset_id, import_id=asked.id, archive=blob, file_name=name, label=call.label)
        )
        view = import_view(asked, None)
        return Accepted(f"/v1/datasets/{dataset_id}/imports/{asked.id}", view.model_dump(mode="json") if view else {})

    body = {"sha256": blob.sha256, "file_name": name, "label": call.label}
    return await write_once(deps, Call.of(key, "POST", f"/v1/datasets/{dataset_id}/imports", body), write)


def refuse_no_file(kind: str) -> None:
    """What no archive and no picture is sent as; what it really is, ingest finds out from its content.

    A form is taken for a file: curl's --data-binary calls everything one unless it is told otherwise.
    """
    is_file = kind.startswith(("application/", "image/")) and kind != "application/json"
    if kind and not is_file:
        detail = f"A body of type {kind!r} holds no archive; send it as application/octet-stream, or as a form."
        raise ApiError(415, "media_type_unsupported", detail)


def _refuse_announced(request: Request, limit: int) -> None:
    """Refuse by the announced length, before the body is sent for nothing. A form is a little longer than its file."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit + 64 * 1024:
        raise too_large(limit)


def _refuse_empty(archive: _Archive, upload: Received) -> None:
    if not archive.found:
        raise ApiError(422, "file_missing", f"The form has no field '{FIELD}'; put the archive there.")
    if upload.size == 0:
        raise ApiError(422, "empty_archive", "The body is empty; send a zip with one folder of images a class.")


def too_large(limit: int) -> ApiError:
    """413 for a file of more than `limit` bytes."""
    detail = f"The archive has more than {limit / 1e9:.1f} GB; split it and upload the parts one after the other."
    return ApiError(413, "archive_too_large", detail)
