"""/v1/runs: training runs."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, PositiveInt

from chassis.clock import rfc3339
from chassis.records import Repository
from chassis.unit_of_work import UnitOfWork
from schemas.base import Preset
from schemas.requests import RunCancelRequested, RunRequested
from schemas.search import SearchSpace
from services.gateway.api import data_reading
from services.gateway.api.context import Context, IdempotencyKey, Stores
from services.gateway.api.data_views import Version
from services.gateway.api.datasets import LOCATION
from services.gateway.api.deletion_rules import refuse_while_deleting
from services.gateway.api.problems import ApiError, problems, unknown
from services.gateway.api.run_views import TOO_LATE, Run, RunList, Trace, run_view
from services.gateway.deps import GatewayDeps
from services.gateway.requests import RunRequest
from services.gateway.trace_files import spans_of
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["runs"])

RunId = Annotated[str, Path(description="id of the run", examples=["run_01JQ8"])]


class NewRun(BaseModel):
    """What to train on and how hard. Without a version the newest usable one is taken."""

    dataset_id: str = Field(min_length=1, examples=["ds_01JQ8"])
    version: PositiveInt | None = None
    preset: Preset = "fast"
    space: SearchSpace | None = Field(
        default=None, description="for experts: what to try instead of the preset's heads"
    )


@router.post("/v1/runs", status_code=202, summary="Start a run", responses={**LOCATION, **problems(404, 409, 422)})
async def create_run(body: NewRun, deps: Stores, response: Response, key: IdempotencyKey = None) -> Run:
    """A run on a version that is still being prepared waits for it; on none or a rejected one it is refused."""
    await data_reading.get_dataset(deps, body.dataset_id)
    version = await _usable_version(deps, body.dataset_id, body.version)

    async def write(tx: UnitOfWork) -> Accepted:
        await refuse_while_deleting(deps, tx.documents, body.dataset_id)
        fields = {"dataset_id": body.dataset_id, "version": version, "preset": body.preset, "space": body.space}
        created = rfc3339(deps.clock.now())
        request = RunRequest.model_validate({"id": deps.ids.new("run"), **fields, "created_at": created})
        await tx.records(RunRequest).add(request)
        tx.emit(RunRequested.model_validate({"run_id": request.id, **fields}))
        view = run_view(request, None)
        return Accepted(f"/v1/runs/{request.id}", view.model_dump(mode="json") if view else {})

    accepted = await write_once(deps, Call.of(key, "POST", "/v1/runs", body.model_dump()), write)
    response.headers["Location"] = accepted.location
    return Run.model_validate(accepted.answer)


@router.get("/v1/runs", summary="List the runs")
async def list_runs(
    deps: Stores, dataset_id: Annotated[str | None, Query(description="only those of this data set")] = None
) -> RunList:
    """Newest first."""
    where = {} if dataset_id is None else {"dataset_id": dataset_id}
    requests = {request.id: request for request in await Repository(deps.database, RunRequest).find(where)}
    owned = {row["_id"]: row for row in await deps.registry.find("runs", where)}
    views = [run_view(requests.get(one), owned.get(one)) for one in requests.keys() | owned.keys()]
    newest_first = sorted((view for view in views if view), key=lambda view: (view.created_at, view.id), reverse=True)
    return RunList(items=newest_first)


@router.get("/v1/runs/{run_id}", summary="Show a run", responses=problems(404))
async def get_run(run_id: RunId, deps: Stores) -> Run:
    """Its state, when each stage began, and what came of it."""
    return await find_run(deps, run_id)


@router.post("/v1/runs/{run_id}/cancel", status_code=202, summary="Cancel a run", responses=problems(404, 409))
async def cancel_run(run_id: RunId, deps: Stores, key: IdempotencyKey = None) -> Run:
    """Idempotent. A run that is registering its model, or is over, cannot be cancelled any more."""
    run = await find_run(deps, run_id)
    if run.state in TOO_LATE:
        raise ApiError(409, "run_over", f"Run {run_id} is {run.state}; only a run that is under way can be cancelled.")
    if run.state == "cancelled":
        return run

    async def write(tx: UnitOfWork) -> Accepted:
        tx.emit(RunCancelRequested(run_id=run_id))
        return Accepted(f"/v1/runs/{run_id}", run.model_dump(mode="json"))

    accepted = await write_once(deps, Call.of(key, "POST", f"/v1/runs/{run_id}/cancel", {}), write)
    return Run.model_validate(accepted.answer)


@router.get("/v1/runs/{run_id}/trace", summary="Show a run's trace", responses=problems(404))
async def get_trace(run_id: RunId, context: Context) -> Trace:
    """The spans written on this machine; where a collector is set, they are there instead."""
    run = await find_run(context.deps, run_id)
    if (endpoint := context.settings.otlp_endpoint) is not None:
        detail = f"Traces go to the collector at {endpoint}; look for trace {run.trace_id} there."
        raise ApiError(404, "trace_elsewhere", detail)
    if run.trace_id is None:
        return Trace(run_id=run_id, trace_id=None, spans=[])
    spans = await asyncio.to_thread(spans_of, context.settings.trace_dir, run.trace_id)
    return Trace.model_validate({"run_id": run_id, "trace_id": run.trace_id, "spans": spans})


async def find_run(deps: GatewayDeps, run_id: str) -> Run:
    """Raises the 404 problem."""
    request = await Repository(deps.database, RunRequest).get(run_id)
    view = run_view(request, await deps.registry.get("runs", run_id))
    if view is None:
        raise unknown("run", run_id, "/v1/runs")
    return view


async def _usable_version(deps: GatewayDeps, dataset_id: str, asked: int | None) -> int:
    versions = await data_reading.list_versions(deps, dataset_id)
    if asked is None:
        chosen = newest_usable(versions)
        if chosen is None:
            detail = f"Data set {dataset_id} has no version to train on; upload a zip with one folder a class."
            raise ApiError(409, "no_version", detail)
        return chosen
    version = next((one for one in versions if one.version == asked), None)
    if version is None:
        raise unknown("version", f"{dataset_id}/{asked}", f"/v1/datasets/{dataset_id}/versions")
    if version.status == "rejected":
        reason = version.failure.sentence if version.failure else "It cannot be trained on."
        raise ApiError(409, "version_rejected", f"Version {asked} of data set {dataset_id} was rejected: {reason}")
    return asked


def newest_usable(versions: list[Version]) -> int | None:
    """The newest ready version, else the newest that is still being prepared. `versions` are newest first."""
    for status in ("ready", "open"):
        if (found := next((one.version for one in versions if one.status == status), None)) is not None:
            return found
    return None
