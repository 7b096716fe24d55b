"""/v1/models: models, their versions, reports and bundles."""

import asyncio
import shutil
import tempfile
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from schemas.base import BlobRef
from services.gateway.api.context import Context, Stores
from services.gateway.api.model_views import Model, ModelList, ModelVersion, ModelVersionList
from services.gateway.api.problems import ApiError, problems, unknown
from services.gateway.deps import GatewayDeps

router = APIRouter(tags=["models"])

ModelId = Annotated[str, Path(description="id of the model", examples=["mdl_01JQ8"])]
Number = Annotated[int, Path(ge=1, description="version number")]


@router.get("/v1/models", summary="List the models")
async def list_models(
    deps: Stores, dataset_id: Annotated[str | None, Query(description="only that of this data set")] = None
) -> ModelList:
    """Newest first."""
    rows = await deps.registry.find("models", {} if dataset_id is None else {"dataset_id": dataset_id})
    views = [await _model_view(deps, row) for row in rows if row.get("deleted_at") is None]
    return ModelList(items=sorted(views, key=lambda view: (view.created_at, view.id), reverse=True))


@router.get("/v1/models/{model_id}", summary="Show a model", responses=problems(404))
async def get_model(model_id: ModelId, deps: Stores) -> Model:
    """With its aliases."""
    return await _model_view(deps, await find_model(deps, model_id))


@router.get("/v1/models/{model_id}/versions", summary="List a model's versions", responses=problems(404))
async def list_versions(model_id: ModelId, deps: Stores) -> ModelVersionList:
    """Newest first, with their metrics on the test split."""
    await find_model(deps, model_id)
    rows = await deps.registry.find("model_versions", {"model_id": model_id})
    views = [ModelVersion.model_validate(row) for row in rows]
    return ModelVersionList(items=sorted(views, key=lambda view: view.version, reverse=True))


@router.get("/v1/models/{model_id}/versions/{version}", summary="Show a model's version", responses=problems(404, 422))
async def get_version(model_id: ModelId, version: Number, deps: Stores) -> ModelVersion:
    """Where it comes from and how good it is."""
    return await find_version(deps, model_id, version)


@router.get(
    "/v1/models/{model_id}/versions/{version}/report",
    summary="Read the evaluation report",
    responses={200: {"content": {"application/json": {}}}, **problems(404, 422)},
    response_class=Response,
)
async def get_report(model_id: ModelId, version: Number, deps: Stores) -> Response:
    """JSON whose shape the task type documents: metrics a class, confusion, threshold, bad cases."""
    found = await find_version(deps, model_id, version)
    return Response(await asyncio.to_thread(deps.blobs.get, found.report), media_type="application/json")


@router.get(
    "/v1/models/{model_id}/versions/{version}/bundle",
    summary="Download the offline bundle",
    responses={200: {"content": {"application/zip": {}}}, **problems(404, 422)},
    response_class=FileResponse,
)
async def get_bundle(model_id: ModelId, version: Number, context: Context) -> FileResponse:
    """A zip with the exported models and a manifest of their hashes."""
    found = await find_version(context.deps, model_id, version)
    folder = await asyncio.to_thread(_fetch, context.deps, found.bundle, context.settings.scratch_dir)
    return FileResponse(
        folder / "bundle.zip",
        media_type="application/zip",
        filename=f"{model_id}-v{version}.zip",
        headers={"ETag": f'"{found.bundle.sha256}"'},
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


async def find_model(deps: GatewayDeps, model_id: str) -> dict[str, Any]:
    """The registry's record. Raises the 404 problem."""
    row = await deps.registry.get("models", model_id)
    if row is None or row.get("deleted_at") is not None:
        detail = f"There is no model {model_id}; one is there once the first run of its data set has succeeded."
        raise ApiError(404, "model_unknown", f"{detail} GET /v1/models lists those that exist.")
    return row


async def find_version(deps: GatewayDeps, model_id: str, version: int) -> ModelVersion:
    await find_model(deps, model_id)
    row = await deps.registry.get("model_versions", f"{model_id}/{version}")
    if row is None:
        raise unknown("version", f"{model_id}/{version}", f"/v1/models/{model_id}/versions")
    return ModelVersion.model_validate(row)


async def _model_view(deps: GatewayDeps, row: dict[str, Any]) -> Model:
    dataset = await deps.ingest.get("datasets", row["dataset_id"])  # also where it is deleted: the model keeps its name
    aliases = await deps.registry.find("aliases", {"model_id": row["_id"]})
    named = {alias["alias"]: alias["version"] for alias in aliases}
    name = dataset["name"] if dataset else row["dataset_id"]
    return Model.model_validate({**row, "id": row["_id"], "name": name, "aliases": named})


def _fetch(deps: GatewayDeps, bundle: BlobRef, scratch: FilePath) -> FilePath:
    scratch.mkdir(parents=True, exist_ok=True)
    folder = FilePath(tempfile.mkdtemp(prefix="bundle-", dir=scratch))
    try:
        deps.blobs.fetch(bundle, folder / "bundle.zip")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
