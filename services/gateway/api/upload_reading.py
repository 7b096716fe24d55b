"""Looks uploads in parts up, in the gateway's database."""

from chassis.clock import rfc3339
from chassis.records import Repository
from services.gateway.api.problems import ApiError
from services.gateway.deps import GatewayDeps
from services.gateway.uploads import Upload as StoredUpload


async def find(deps: GatewayDeps, upload_id: str) -> StoredUpload:
    """Raises the 404 problem, also for one whose time is over."""
    upload = await Repository(deps.database, StoredUpload).get(upload_id)
    if upload is None or is_over(deps, upload):
        raise unknown_upload(upload_id)
    return upload


async def find_open(deps: GatewayDeps, upload_id: str) -> StoredUpload:
    """Raises the 404 problem, or 409 for one that was completed."""
    upload = await find(deps, upload_id)
    if upload.status != "open":
        address = f"/v1/datasets/{upload.dataset_id}/imports/{upload.import_id}"
        raise ApiError(409, "upload_completed", f"Upload {upload_id} was completed; see {address}.")
    return upload


def is_over(deps: GatewayDeps, upload: StoredUpload) -> bool:
    """Whether its time is over."""
    return upload.expires_at <= rfc3339(deps.clock.now())


def unknown_upload(upload_id: str) -> ApiError:
    """404."""
    sentence = f"There is no upload {upload_id}; it was given up or its time is over: begin a new one."
    return ApiError(404, "upload_unknown", sentence)


def lost(upload: StoredUpload) -> ApiError:
    """409: it cannot be gone on with."""
    sentence = f"The object store no longer knows upload {upload.id}; begin a new one for {upload.file_name}."
    return ApiError(409, "upload_lost", sentence)
