"""Model versions, within a unit of work."""

from chassis.deps import Deps
from chassis.unit_of_work import UnitOfWork
from schemas.learning import ModelEvaluated
from schemas.publishing import Publication
from schemas.run import ModelVersionRegistered
from services.registry.promotion import Candidate, Incumbent, decide
from services.registry.publishing import move_alias
from services.registry.records import PRODUCTION, Alias, Model, ModelVersion, Run

POLICY = "policy"


async def register(tx: UnitOfWork, deps: Deps, run: Run, event: ModelEvaluated) -> ModelVersion:
    """Give the evaluated model its number, and production if the policy says so."""
    model = await tx.records(Model).get(run.model_id) or Model(
        id=run.model_id,
        project_id=run.project_id,
        dataset_id=run.dataset_id,
        task=run.task,
        created_at=deps.clock.now(),
    )
    publication = await _decide(tx, model, event)
    version = _version(deps, run, event, model.last_version + 1, publication)
    await tx.records(Model).save(model.changed(last_version=version.version, deleted_at=None))
    await tx.records(ModelVersion).add(version)
    tx.emit(_registered(version))
    if publication.published:
        await move_alias(tx, deps, version, PRODUCTION, reason=publication.reason, actor=POLICY)
    return version


async def _decide(tx: UnitOfWork, model: Model, event: ModelEvaluated) -> Publication:
    candidate = Candidate(event.metrics, event.primary_metric, event.test_sample_count)
    production = await tx.records(Alias).get(f"{model.id}/{PRODUCTION}")
    if production is None:
        return decide(model.policy, candidate, None)
    # The evaluator rescored the version it found in production; if another one is there by now, its score says nothing.
    rescored = event.baseline_metrics if event.baseline_version == production.version else None
    return decide(model.policy, candidate, Incumbent(production.version, rescored))


def _version(deps: Deps, run: Run, event: ModelEvaluated, number: int, publication: Publication) -> ModelVersion:
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
        publication=publication,
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
        publication=version.publication,
    )
