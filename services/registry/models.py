"""Model versions and aliases, within a unit of work."""

from chassis.deps import Deps
from chassis.unit_of_work import UnitOfWork
from schemas.learning import ModelEvaluated
from schemas.run import ModelAliasChanged, ModelVersionRegistered
from services.registry.promotion import decide
from services.registry.records import PRODUCTION, Alias, AliasMove, Model, ModelVersion, Run

POLICY = "policy"


async def register(tx: UnitOfWork, deps: Deps, run: Run, event: ModelEvaluated) -> int:
    """Give the evaluated model its number, and production if the policy says so. The number."""
    model = await tx.records(Model).get(run.model_id) or Model(
        id=run.model_id,
        project_id=run.project_id,
        dataset_id=run.dataset_id,
        task=run.task,
        created_at=deps.clock.now(),
    )
    version = _version(deps, run, event, model.last_version + 1)
    await tx.records(Model).save(model.changed(last_version=version.version, deleted_at=None))
    await tx.records(ModelVersion).add(version)
    tx.emit(_registered(version))
    await _apply_policy(tx, deps, version, event)
    return version.version


async def move_alias(tx: UnitOfWork, deps: Deps, version: ModelVersion, alias: str, *, reason: str, actor: str) -> None:
    """Point the alias at the version and write the move down; moving it to where it is changes nothing."""
    alias_id = f"{version.model_id}/{alias}"
    before = await tx.records(Alias).get(alias_id)
    if before is not None and before.version == version.version:
        return
    shared = {
        "model_id": version.model_id,
        "alias": alias,
        "version": version.version,
        "project_id": version.project_id,
    }
    story = {"previous_version": before.version if before else None, "reason": reason, "actor": actor}
    await tx.records(Alias).save(Alias.model_validate({"id": alias_id, **shared}))
    await tx.records(AliasMove).add(
        AliasMove.model_validate({"id": deps.ids.new("move"), **shared, **story, "at": deps.clock.now()})
    )
    tx.emit(ModelAliasChanged.model_validate({**shared, **story}))


async def _apply_policy(tx: UnitOfWork, deps: Deps, version: ModelVersion, event: ModelEvaluated) -> None:
    production = await tx.records(Alias).get(f"{version.model_id}/{PRODUCTION}")
    incumbent = production.version if production else None
    # The evaluator rescored the version it found in production; if another one is there by now, its score says nothing.
    baseline = event.baseline_metrics if event.baseline_version == incumbent else None
    decision = decide(event.primary_metric, event.metrics, baseline, incumbent)
    if decision.promote:
        await move_alias(tx, deps, version, PRODUCTION, reason=decision.reason, actor=POLICY)


def _version(deps: Deps, run: Run, event: ModelEvaluated, number: int) -> ModelVersion:
    return ModelVersion(
        id=f"{run.model_id}/{number}",
        project_id=run.project_id,
        model_id=run.model_id,
        version=number,
        run_id=run.id,
        dataset_id=run.dataset_id,
        dataset_version=run.version,
        bundle=event.bundle,
        report=event.report,
        metrics=event.metrics,
        created_at=deps.clock.now(),
    )


def _registered(version: ModelVersion) -> ModelVersionRegistered:
    return ModelVersionRegistered(
        project_id=version.project_id,
        model_id=version.model_id,
        version=version.version,
        run_id=version.run_id,
        bundle=version.bundle,
        report=version.report,
        metrics=version.metrics,
    )
