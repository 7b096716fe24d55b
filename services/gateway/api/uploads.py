"""/v1/uploads: archives in parts, for files too large to be sent again from the start."""

import asyncio
from datetime import timedelta

from fastapi import APIRouter, Response

from chassis.clock import rfc3339
from chassis.records import Repository
from chassis.unit_of_work import UnitOfWork
from schemas.base import DEFAULT_PROJECT
from services.gateway import completing
from services.gateway.api import data_reading
from services.gateway.api.context import Context, IdempotencyKey, Stores
from services.gateway.api.data_views import Import, import_view
from services.gateway.api.datasets import LOCATION, DatasetId
from services.gateway.api.deletion_rules import refuse_while_deleting
from services.gateway.api.imports import too_large
from services.gateway.api.problems import ApiError, problems
from services.gateway.api.upload_parts import UploadId
from services.gateway.api.upload_reading import find, find_open, is_over, unknown_upload
from services.gateway.api.upload_views import NewUpload, Upload, UploadList, upload_view
from services.gateway.deps import GatewayDeps
from services.gateway.expiring import give_up
from services.gateway.requests import ImportRequest
from services.gateway.uploads import MEDIA_TYPE, in_words, part_size_of
from services.gateway.uploads import Upload as StoredUpload
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["uploads"])


@router.post(
    "/v1/datasets/{dataset_id}/uploads",
    status_code=201,
    summary="Begin an upload in parts",
    responses={201: LOCATION[202], **problems(404, 409, 413, 422)},
)
async def begin_upload(
    dataset_id: DatasetId, body: NewUpload, context: Context, response: Response, key: IdempotencyKey = None
) -> Upload:
    """Then PUT each part, in any order, and complete it. Parts that arrived are kept until `expires_at`."""
    deps, limit = context.deps, context.settings.upload_max_bytes
    await data_reading.get_dataset(deps, dataset_id)
    if body.size == 0:
        raise ApiError(422, "empty_archive", "The file is empty; send a zip with one folder of images a class.")
    if body.size > limit:
        raise too_large(limit)
    upload = await _opened(deps, dataset_id, body, timedelta(seconds=context.settings.upload_keep_s))
    accepted = await _begin(deps, upload, Call.of(key, "POST", f"/v1/datasets/{dataset_id}/uploads", body.model_dump()))
    response.headers["Location"] = accepted.location
    return Upload.model_validate(accepted.answer)


@router.get("/v1/datasets/{dataset_id}/uploads", summary="List the open uploads", responses=problems(404))
async def list_uploads(dataset_id: DatasetId, deps: Stores) -> UploadList:
    """Newest first."""
    await data_reading.get_dataset(deps, dataset_id)
    rows = Repository(deps.database, StoredUpload)
    found = await rows.find({"dataset_id": dataset_id, "status": "open"})
    live = [upload for upload in found if not is_over(deps, upload)]
    return UploadList(items=[upload_view(upload) for upload in sorted(live, key=lambda one: one.id, reverse=True)])


@router.get("/v1/uploads/{upload_id}", summary="Show an upload", responses=problems(404))
async def get_upload(upload_id: UploadId, deps: Stores) -> Upload:
    """With the parts that arrived: send the others, then complete it."""
    return upload_view(await find(deps, upload_id))


@router.post(
    "/v1/uploads/{upload_id}/complete",
    status_code=202,
    summary="Complete an upload",
    responses={**LOCATION, **problems(404, 409, 422)},
)
async def complete_upload(upload_id: UploadId, deps: Stores, response: Response, key: IdempotencyKey = None) -> Import:
    """All parts are there: the file becomes an import. Its hash follows in moments. Said twice, it is one import."""
    upload = await find(deps, upload_id)
    await data_reading.get_dataset(deps, upload.dataset_id)

    async def write(tx: UnitOfWork) -> Accepted:
        found = await tx.records(StoredUpload).get(upload_id)
        if found is None:
            raise unknown_upload(upload_id)
        asked = await tx.records(ImportRequest).get(found.import_id) if found.import_id else None
        if found.status == "open":
            _refuse_incomplete(found)
            await refuse_while_deleting(deps, tx.documents, found.dataset_id)
            asked = _request(deps, found)
            await completing.complete(tx, deps, found, asked)
        view = import_view(asked, None if asked is None else await deps.ingest.get("imports", asked.id))
        if view is None:
            raise unknown_upload(upload_id)
        return Accepted(f"/v1/datasets/{found.dataset_id}/imports/{view.id}", view.model_dump(mode="json"))

    accepted = await write_once(deps, Call.of(key, "POST", f"/v1/uploads/{upload_id}/complete", {}), write)
    deps.jobs_wake.set()
    response.headers["Location"] = accepted.location
    return Import.model_validate(accepted.answer)


@router.delete(
    "/v1/uploads/{upload_id}",
    status_code=204,
    summary="Give an upload up",
    response_class=Response,
    responses=problems(404, 409),
)
async def abort_upload(upload_id: UploadId, deps: Stores) -> None:
    """The parts that arrived are deleted. A completed upload stays: delete the version that it became."""
    while not await give_up(deps, await find_open(deps, upload_id)):
        pass  # somebody changed it in this moment: look again


async def _opened(deps: GatewayDeps, dataset_id: str, body: NewUpload, keep: timedelta) -> StoredUpload:
    upload_id = deps.ids.new("upl")
    place = f"projects/{DEFAULT_PROJECT}/uploads/{upload_id}"
    session = await asyncio.to_thread(deps.sessions.open, place, MEDIA_TYPE)
    now = deps.clock.now()
    return StoredUpload(
        **body.model_dump(),
        id=upload_id,
        dataset_id=dataset_id,
        part_size=part_size_of(body.size),
        key=session.key,
        session_id=session.id,
        created_at=rfc3339(now),
        expires_at=rfc3339(now + keep),
    )


async def _begin(deps: GatewayDeps, upload: StoredUpload, call: Call) -> Accepted:
    async def write(tx: UnitOfWork) -> Accepted:
        await refuse_while_deleting(deps, tx.documents, upload.dataset_id)
        await tx.records(StoredUpload).add(upload)
        return Accepted(f"/v1/uploads/{upload.id}", upload_view(upload).model_dump(mode="json"))

    accepted = await write_once(deps, call, write)
    if accepted.answer["id"] != upload.id:  # the same call was answered before
        await asyncio.to_thread(deps.sessions.abort, upload.session)
    return accepted


def _request(deps: GatewayDeps, upload: StoredUpload) -> ImportRequest:
    return ImportRequest(
        id=deps.ids.new("imp"),
        dataset_id=upload.dataset_id,
        file_name=upload.file_name,
        archive=None,
        created_at=rfc3339(deps.clock.now()),
    )


def _refuse_incomplete(upload: StoredUpload) -> None:
    if missing := upload.missing:
        sentence = (
            f"Of {upload.part_count} parts these have not arrived: {in_words(missing)}; send them, then complete."
        )
        raise ApiError(409, "parts_missing", sentence)
