"""Runs as callers see them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from schemas.base import Failure, Preset
from schemas.publishing import Publication
from schemas.run import Budget, RunState
from schemas.search import SearchSpace
from services.gateway.requests import RunRequest

ENDED: frozenset[RunState] = frozenset({"succeeded", "failed", "cancelled"})
TOO_LATE: frozenset[RunState] = frozenset({"registering", "succeeded", "failed"})


class Run(BaseModel):
    """One attempt to make a better model. `stage_times` says when each state was entered."""

    id: str = Field(examples=["run_01JQ8"])
    dataset_id: str = Field(examples=["ds_01JQ8"])
    version: int
    preset: Preset
    trigger: Literal["auto", "request"]
    state: RunState
    model_id: str | None = None
    model_version: int | None = Field(default=None, description="set when the run succeeded")
    publication: Publication | None = Field(default=None, description="why its version was or was not published")
    failure: Failure | None = Field(default=None, description="set when the run failed")
    stage_times: dict[str, str] = {}
    budget: Budget | None = None
    space: SearchSpace | None = Field(default=None, description="what was to be tried instead of the preset's heads")
    trace_id: str | None = None
    created_at: str
    ended_at: str | None = None


class RunList(BaseModel):
    """Runs, newest first."""

    items: list[Run]


class Span(BaseModel):
    """One step of a trace. Times are RFC 3339 with microseconds."""

    name: str
    service: str
    span_id: str
    parent_span_id: str | None
    kind: str
    start: str
    end: str
    duration_ms: float
    status: Literal["unset", "ok", "error"]
    status_message: str = ""
    attributes: dict[str, Any] = {}


class Trace(BaseModel):
    """The spans of a run's trace written so far, by start time; `parent_span_id` makes them a tree."""

    run_id: str
    trace_id: str | None
    spans: list[Span]


def run_view(request: RunRequest | None, owned: Mapping[str, Any] | None) -> Run | None:
    """The registry's record where there is one, otherwise the request; None when nobody knows the run."""
    if owned is not None:
        return Run.model_validate({**owned, "id": owned["_id"]})
    if request is None:
        return None
    entered = {"requested": request.created_at}
    return Run(**request.model_dump(exclude={"project_id"}), state="requested", stage_times=entered)
