"""Looks data sets, imports and versions up in the databases of their owners and in the gateway's own."""

import asyncio
from collections.abc import Sequence

from chassis.records import Repository
from schemas.base import BlobRef
from services.gateway.api.data_views import (
    Dataset,
    Import,
    Rejection,
    Version,
    coming_version,
    dataset_view,
    import_view,
    is_deleted,
    rejections_blob,
    version_view,
)
from services.gateway.api.problems import unknown
from services.gateway.deps import GatewayDeps
from services.gateway.requests import DatasetRequest, ImportRequest

REJECTIONS_SHOWN = 1000


async def find_dataset(deps: GatewayDeps, dataset_id: str) -> Dataset | None:
    """None when nobody knows it."""
    request = await Repository(deps.database, DatasetRequest).get(dataset_id)
    return dataset_view(request, await deps.ingest.get("datasets", dataset_id))


async def get_dataset(deps: GatewayDeps, dataset_id: str) -> Dataset:
    """Raises the 404 problem."""
    view = await find_dataset(deps, dataset_id)
    if view is None:
        raise unknown("dataset", dataset_id, "/v1/datasets")
    return view


async def list_datasets(deps: GatewayDeps) -> list[Dataset]:
    """Newest first."""
    requests = {request.id: request for request in await Repository(deps.database, DatasetRequest).find({})}
    owned = {row["_id"]: row for row in await deps.ingest.find("datasets", {})}
    views = [dataset_view(requests.get(one), owned.get(one)) for one in requests.keys() | owned.keys()]
    return sorted((view for view in views if view), key=lambda view: (view.created_at, view.id), reverse=True)


async def get_import(deps: GatewayDeps, dataset_id: str, import_id: str) -> Import:
    """Raises the 404 problem, also for an import of another data set."""
    request = await Repository(deps.database, ImportRequest).get(import_id)
    view = import_view(request, await deps.ingest.get("imports", import_id))
    if view is None or view.dataset_id != dataset_id:
        raise unknown("import", import_id, f"/v1/datasets/{dataset_id}/versions")
    return view


async def list_versions(deps: GatewayDeps, dataset_id: str) -> list[Version]:
    """Newest first."""
    imports = [coming_version(row) for row in await deps.ingest.find("imports", {"dataset_id": dataset_id})]
    owned = await deps.preprocess.find("versions", {"dataset_id": dataset_id})
    deleted = {row["version"] for row in owned if is_deleted(row)}
    coming = {view.version: view for view in imports if view is not None and view.version not in deleted}
    made = {row["version"]: version_view(row) for row in owned if not is_deleted(row)}
    return sorted({**coming, **made}.values(), key=lambda view: view.version, reverse=True)


async def get_version(deps: GatewayDeps, dataset_id: str, number: int) -> Version:
    """With its refused files. Raises the 404 problem."""
    await get_dataset(deps, dataset_id)
    owned = await deps.preprocess.get("versions", f"{dataset_id}/{number}")
    if owned is not None and is_deleted(owned):
        raise unknown("version", f"{dataset_id}/{number}", f"/v1/datasets/{dataset_id}/versions")
    if owned is not None:
        blob = rejections_blob(owned) or await _refused_by_ingest(deps, dataset_id, number)
        return await _with_rejections(deps, version_view(owned), blob)
    imports = await deps.ingest.find("imports", {"dataset_id": dataset_id})
    for row in imports:
        view = coming_version(row)
        if view is not None and view.version == number:
            return await _with_rejections(deps, view, rejections_blob(row))
    raise unknown("version", f"{dataset_id}/{number}", f"/v1/datasets/{dataset_id}/versions")


async def _refused_by_ingest(deps: GatewayDeps, dataset_id: str, number: int) -> BlobRef | None:
    """An import of which nothing could be used never reached preprocess; its list is all there is."""
    imports = await deps.ingest.find("imports", {"dataset_id": dataset_id})
    return next((rejections_blob(row) for row in imports if row.get("version") == number), None)


async def _with_rejections(deps: GatewayDeps, view: Version, blob: BlobRef | None) -> Version:
    rows = [] if blob is None else await asyncio.to_thread(_read_rejections, deps, blob)
    return view.model_copy(update={"rejections": list(rows)})


def _read_rejections(deps: GatewayDeps, blob: BlobRef) -> Sequence[Rejection]:
    from chassis.manifests import read_rejections  # brings pyarrow, which only this answer needs

    rows = read_rejections(deps.blobs.get(blob))[:REJECTIONS_SHOWN]
    return [Rejection(name=row.name, code=row.code, sentence=row.sentence) for row in rows]
