"""/v1/datasets: data sets and their versions."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from chassis.clock import rfc3339
from chassis.unit_of_work import UnitOfWork
from learning.registry import task_names
from schemas.base import AutoTrain
from schemas.requests import DatasetRequested
from services.gateway.api import data_reading
from services.gateway.api.context import IdempotencyKey, Stores
from services.gateway.api.data_views import Dataset, DatasetList, Version, VersionList
from services.gateway.api.problems import ApiError, problems
from services.gateway.requests import DatasetRequest
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["data sets"])

DatasetId = Annotated[str, Path(description="id of the data set", examples=["ds_01JQ8"])]
LOCATION: dict[int | str, dict[str, Any]] = {
    202: {"headers": {"Location": {"description": "the address to watch", "schema": {"type": "string"}}}}
}


class NewDataset(BaseModel):
    """What a data set is called, what its samples are for, and how hard to train when a version is ready."""

    name: str = Field(min_length=1, max_length=200, examples=["fruit"])
    task: str = Field(default="image_classification", examples=["image_classification"])
    auto_train: AutoTrain = "fast"


@router.post("/v1/datasets", status_code=202, summary="Make a data set", responses={**LOCATION, **problems(422)})
async def create_dataset(body: NewDataset, deps: Stores, response: Response, key: IdempotencyKey = None) -> Dataset:
    """Takes imports at once; `status` becomes `created` within moments."""
    if body.task not in task_names():
        names = ", ".join(task_names())
        raise ApiError(422, "task_unknown", f"There is no task {body.task!r}; choose one of: {names}.")

    async def write(tx: UnitOfWork) -> Accepted:
        request = DatasetRequest(id=deps.ids.new("ds"), **body.model_dump(), created_at=rfc3339(deps.clock.now()))
        await tx.records(DatasetRequest).add(request)
        tx.emit(DatasetRequested(project_id=request.project_id, dataset_id=request.id, **body.model_dump()))
        view = Dataset(**request.model_dump(exclude={"project_id"}), status="requested")
        return Accepted(f"/v1/datasets/{request.id}", view.model_dump(mode="json"))

    accepted = await write_once(deps, Call.of(key, "POST", "/v1/datasets", body.model_dump()), write)
    response.headers["Location"] = accepted.location
    return Dataset.model_validate(accepted.answer)


@router.get("/v1/datasets", summary="List the data sets")
async def list_datasets(deps: Stores) -> DatasetList:
    """Newest first."""
    return DatasetList(items=await data_reading.list_datasets(deps))


@router.get("/v1/datasets/{dataset_id}", summary="Show a data set", responses=problems(404))
async def get_dataset(dataset_id: DatasetId, deps: Stores) -> Dataset:
    """As its owner has it, or as it was asked for."""
    return await data_reading.get_dataset(deps, dataset_id)


@router.get("/v1/datasets/{dataset_id}/versions", summary="List the versions", responses=problems(404))
async def list_versions(dataset_id: DatasetId, deps: Stores) -> VersionList:
    """Newest first; refused files are shown with a single version."""
    await data_reading.get_dataset(deps, dataset_id)
    return VersionList(items=await data_reading.list_versions(deps, dataset_id))


@router.get("/v1/datasets/{dataset_id}/versions/{version}", summary="Show a version", responses=problems(404, 422))
async def get_version(dataset_id: DatasetId, version: Annotated[int, Path(ge=1)], deps: Stores) -> Version:
    """Classes, counts, findings, and the first thousand refused files with reasons."""
    return await data_reading.get_version(deps, dataset_id, version)
