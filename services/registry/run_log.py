"""Moving runs along their table, within a unit of work."""

import hashlib
import logging

from chassis.deps import Deps
from chassis.telemetry import current_trace_id
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure, Preset
from schemas.dataset import DatasetVersionReady
from schemas.requests import RunRequested
from schemas.run import RunEnded, RunStageChanged, RunStarted, RunState
from services.registry.budgets import budget_of
from services.registry.metrics import ILLEGAL_TRANSITIONS
from services.registry.records import KnownVersion, Run, Trigger
from services.registry.transitions import allowed

log = logging.getLogger(__name__)


def model_of(dataset_id: str) -> str:
    """One model a data set: its id shares the data set's ULID."""
    return f"mdl_{dataset_id.removeprefix('ds_')}"


def automatic_run_id(dataset_id: str, version: int) -> str:
    """The same for every delivery of the event that starts it, so that a version starts one automatic run."""
    return f"run_{dataset_id.removeprefix('ds_')}{version:04d}"


def seed_of(run_id: str) -> int:
    """A 31-bit seed that anyone can derive again."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:4]) & 0x7FFFFFFF


async def advance(tx: UnitOfWork, deps: Deps, run: Run, state: RunState, **changes: object) -> Run | None:
    """The run in its next state; None, and nothing is written, where the table does not allow it."""
    if not allowed(run.state, state):
        ILLEGAL_TRANSITIONS.labels(run.state, state).inc()
        log.info("run %s is %s; what asks for %s comes too late and is ignored", run.id, run.state, state)
        return None
    now = deps.clock.now()
    moved = run.changed(state=state, stage_times={**run.stage_times, state: now}, **changes)
    await tx.records(Run).save(moved)
    tx.emit(RunStageChanged(project_id=run.project_id, run_id=run.id, previous=run.state, state=state))
    return moved


async def start(tx: UnitOfWork, deps: Deps, run: Run, version: KnownVersion) -> None:
    """The run has its data: searching begins."""
    if version.manifest is None:
        raise LookupError(f"dataset version {version.id} has no manifest; only a ready version starts runs")
    budget = budget_of(run.preset, deps.clock.now())
    moved = await advance(tx, deps, run, "searching", budget=budget, manifest=version.manifest, task=version.task)
    if moved is None:
        return
    tx.emit(
        RunStarted(
            project_id=run.project_id,
            run_id=run.id,
            dataset_id=run.dataset_id,
            version=run.version,
            model_id=run.model_id,
            task=version.task,
            manifest=version.manifest,
            budget=budget,
            seed=run.seed,
            space=run.space,
        )
    )


async def fail(tx: UnitOfWork, deps: Deps, run: Run, failure: Failure) -> None:
    """End the run as failed."""
    if moved := await advance(tx, deps, run, "failed", failure=failure, ended_at=deps.clock.now()):
        tx.emit(ended(moved))


def ended(run: Run) -> RunEnded:
    """The closing event of a run that is over."""
    return RunEnded.model_validate(
        {
            "project_id": run.project_id,
            "run_id": run.id,
            "dataset_id": run.dataset_id,
            "state": run.state,
            "model_id": run.model_id,
            "model_version": run.model_version,
            "failure": run.failure,
        }
    )


def new_run(
    deps: Deps, cause: DatasetVersionReady | RunRequested, run_id: str, preset: Preset, trigger: Trigger
) -> Run:
    """A run that was just asked for; its trace is the one that asked."""
    now = deps.clock.now()
    return Run.model_validate(
        {
            "id": run_id,
            "project_id": cause.project_id,
            "dataset_id": cause.dataset_id,
            "version": cause.version,
            "model_id": model_of(cause.dataset_id),
            "preset": preset,
            "seed": seed_of(run_id),
            "trigger": trigger,
            "state": "requested",
            "stage_times": {"requested": now},
            "trace_id": current_trace_id(),
            "created_at": now,
        }
    )
