"""DELETE of data sets, models and their versions, and /v1/deletions/{id}: what became of it.

What is deleted is answered 404 ever after, also by another DELETE; a DELETE while one is under way is answered with
that one. The owner of the thing has the last word; what it refuses is found at the address of the deletion.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from chassis.clock import rfc3339
from chassis.documents.ports import Documents
from chassis.records import Repository
from chassis.unit_of_work import UnitOfWork
from schemas.base import Event, Failure
from schemas.deletion import (
    DatasetDeleteRequested,
    DatasetVersionDeleteRequested,
    ModelDeleteRequested,
    ModelVersionDeleteRequested,
)
from services.gateway.api import data_reading
from services.gateway.api.context import IdempotencyKey, Stores
from services.gateway.api.datasets import LOCATION, DatasetId
from services.gateway.api.deletion_rules import (
    deletion_under_way,
    refuse_dataset_in_use,
    refuse_published,
    refuse_run_under_way,
    refuse_version_open,
)
from services.gateway.api.models import ModelId, Number, find_model, find_version
from services.gateway.api.problems import ApiError, problems
from services.gateway.deps import GatewayDeps
from services.gateway.requests import DeletionRequest
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["deletions"])

Check = Callable[[Documents], Awaitable[None]]


class Deletion(BaseModel):
    """A deletion that was asked for. `refused` means that the thing stays, for the reason in `failure`."""

    id: str = Field(examples=["del_01JQ8"])
    target: str = Field(description="the address of what is to be deleted", examples=["/v1/datasets/ds_01JQ8"])
    status: Literal["requested", "done", "refused"]
    failure: Failure | None = None
    created_at: str
    ended_at: str | None = None


@dataclass(frozen=True)
class _Asked:
    """One DELETE: what it is about, the event that asks its owner, and what must not be in the way."""

    target: str
    address: str
    owner: Literal["ingest", "preprocess", "registry"]
    event: Callable[[str], Event]
    check: Check


ANSWERS: dict[int | str, dict[str, Any]] = {**LOCATION, **problems(404, 409, 422)}


@router.delete("/v1/datasets/{dataset_id}", status_code=202, summary="Delete a data set", responses=ANSWERS)
async def delete_dataset(
    dataset_id: DatasetId, deps: Stores, response: Response, key: IdempotencyKey = None
) -> Deletion:
    """With its versions and imports; models that were made from it stay. Refused while something is under way."""
    await data_reading.get_dataset(deps, dataset_id)

    async def check(own: Documents) -> None:
        await refuse_dataset_in_use(deps, own, dataset_id)

    def event(deletion_id: str) -> Event:
        return DatasetDeleteRequested(deletion_id=deletion_id, dataset_id=dataset_id)

    asked = _Asked(dataset_id, f"/v1/datasets/{dataset_id}", "ingest", event, check)
    return await _ask(deps, asked, response, key)


@router.delete(
    "/v1/datasets/{dataset_id}/versions/{version}",
    status_code=202,
    summary="Delete a version of a data set",
    responses=ANSWERS,
)
async def delete_dataset_version(
    dataset_id: DatasetId,
    version: Number,
    deps: Stores,
    response: Response,
    key: IdempotencyKey = None,
) -> Deletion:
    """Later versions keep their samples. Refused while a run uses it or a version is being prepared."""
    await data_reading.get_version(deps, dataset_id, version)

    async def check(own: Documents) -> None:
        await refuse_version_open(deps, dataset_id)
        await refuse_run_under_way(deps, own, dataset_id, version)

    def event(deletion_id: str) -> Event:
        return DatasetVersionDeleteRequested(deletion_id=deletion_id, dataset_id=dataset_id, version=version)

    address = f"/v1/datasets/{dataset_id}/versions/{version}"
    asked = _Asked(f"{dataset_id}/{version}", address, "preprocess", event, check)
    return await _ask(deps, asked, response, key)


@router.delete("/v1/models/{model_id}", status_code=202, summary="Delete a model", responses=ANSWERS)
async def delete_model(model_id: ModelId, deps: Stores, response: Response, key: IdempotencyKey = None) -> Deletion:
    """With its versions and aliases: callers of it are answered 404. Refused while a run is about to add to it."""
    model = await find_model(deps, model_id)

    async def check(own: Documents) -> None:
        await refuse_run_under_way(deps, own, model["dataset_id"])

    def event(deletion_id: str) -> Event:
        return ModelDeleteRequested(deletion_id=deletion_id, model_id=model_id)

    asked = _Asked(model_id, f"/v1/models/{model_id}", "registry", event, check)
    return await _ask(deps, asked, response, key)


@router.delete(
    "/v1/models/{model_id}/versions/{version}",
    status_code=202,
    summary="Delete a version of a model",
    responses=ANSWERS,
)
async def delete_model_version(
    model_id: ModelId, version: Number, deps: Stores, response: Response, key: IdempotencyKey = None
) -> Deletion:
    """Its number is never given again. Refused while an alias names it."""
    await find_version(deps, model_id, version)

    async def check(own: Documents) -> None:
        await refuse_published(deps, model_id, version)

    def event(deletion_id: str) -> Event:
        return ModelVersionDeleteRequested(deletion_id=deletion_id, model_id=model_id, version=version)

    address = f"/v1/models/{model_id}/versions/{version}"
    asked = _Asked(f"{model_id}/{version}", address, "registry", event, check)
    return await _ask(deps, asked, response, key)


@router.get("/v1/deletions/{deletion_id}", summary="Show a deletion", responses=problems(404))
async def get_deletion(
    deletion_id: Annotated[str, Path(description="id of the deletion", examples=["del_01JQ8"])], deps: Stores
) -> Deletion:
    """Whether it is done, or why the thing stays."""
    asked = await Repository(deps.database, DeletionRequest).get(deletion_id)
    if asked is None:
        raise ApiError(404, "deletion_unknown", f"There is no deletion {deletion_id}; a DELETE answers with its id.")
    return _view(asked, await deps.read[asked.owner].get("deletions", deletion_id))


async def _ask(deps: GatewayDeps, asked: _Asked, response: Response, key: str | None) -> Deletion:
    async def write(tx: UnitOfWork) -> Accepted:
        request = await deletion_under_way(deps, tx.documents, asked.target)
        if request is None:
            await asked.check(tx.documents)
            created = rfc3339(deps.clock.now())
            request = DeletionRequest(
                id=deps.ids.new("del"),
                target=asked.target,
                owner=asked.owner,
                address=asked.address,
                created_at=created,
            )
            await tx.records(DeletionRequest).add(request)
            tx.emit(asked.event(request.id))
        return Accepted(f"/v1/deletions/{request.id}", _view(request, None).model_dump(mode="json"))

    accepted = await write_once(deps, Call.of(key, "DELETE", asked.address, {}), write)
    response.headers["Location"] = accepted.location
    return Deletion.model_validate(accepted.answer)


def _view(asked: DeletionRequest, outcome: dict[str, Any] | None) -> Deletion:
    told = {} if outcome is None else {"failure": outcome["failure"], "ended_at": outcome["at"]}
    status = "requested" if outcome is None else outcome["status"]
    return Deletion.model_validate(
        {"id": asked.id, "target": asked.address, "status": status, "created_at": asked.created_at, **told}
    )
