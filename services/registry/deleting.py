"""Deleting models and their versions, and ending what needs data that others deleted.

A model leaves its record behind, marked, so that a version number is never given twice: a data set that trains again
brings its model back under the next number.
"""

from chassis.deps import Deps
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deletion import (
    DatasetDeleted,
    DatasetVersionDeleted,
    ModelDeleted,
    ModelDeleteRefused,
    ModelDeleteRequested,
    ModelVersionDeleted,
    ModelVersionDeleteRequested,
)
from schemas.publishing import PublishPolicy
from services.deletion_outcomes import LIVE, run_under_way, write_down
from services.registry.records import Alias, DeletedDataset, KnownVersion, Model, ModelVersion, Run
from services.registry.run_log import fail


async def delete_model(event: ModelDeleteRequested, deps: Deps) -> None:
    """Delete it with its versions and aliases unless a run is about to add to it; twice is once."""
    async with deps.unit_of_work(cause=event) as tx:
        model = await tx.records(Model).get(event.model_id)
        failure = _unknown(event.model_id) if model is None else await run_under_way(tx.documents, model.dataset_id)
        facts = event.model_dump(include={"project_id", "deletion_id", "actor", "model_id"})
        if model is None or (failure is not None and model.deleted_at is None):
            refused = ModelDeleteRefused.model_validate({**facts, "failure": failure})
            await write_down(tx, deps, event, event.model_id, refused, failure)
            return
        for version in await tx.records(ModelVersion).find({"model_id": model.id}):
            await tx.records(ModelVersion).delete(version.id)
        for alias in await tx.records(Alias).find({"model_id": model.id}):
            await tx.records(Alias).delete(alias.id)
        await tx.records(Model).save(
            model.changed(policy=PublishPolicy(), deleted_at=model.deleted_at or deps.clock.now())
        )
        await write_down(tx, deps, event, event.model_id, ModelDeleted.model_validate(facts))


async def delete_model_version(event: ModelVersionDeleteRequested, deps: Deps) -> None:
    """Delete it unless an alias names it; twice is once."""
    target = f"{event.model_id}/{event.version}"
    async with deps.unit_of_work(cause=event) as tx:
        failure = await _why_version_stays(tx, event.model_id, event.version)
        facts = event.model_dump(include={"project_id", "deletion_id", "actor", "model_id", "version"})
        if failure is not None:
            refused = ModelDeleteRefused.model_validate({**facts, "failure": failure})
            await write_down(tx, deps, event, target, refused, failure)
            return
        await tx.records(ModelVersion).delete(target)
        await write_down(tx, deps, event, target, ModelVersionDeleted.model_validate(facts))


async def forget_dataset(event: DatasetDeleted, deps: Deps) -> None:
    """No run starts on it any more, and one that did meanwhile ends; models that were made from it stay."""
    gone = Failure(
        code="dataset_deleted", sentence=f"Data set {event.dataset_id} was deleted; train on another data set."
    )
    async with deps.unit_of_work(cause=event) as tx:
        await tx.records(DeletedDataset).save(DeletedDataset(id=event.dataset_id, project_id=event.project_id))
        for known in await tx.records(KnownVersion).find({"dataset_id": event.dataset_id}):
            await tx.records(KnownVersion).save(known.changed(manifest=None, failure=gone))
        await _end_runs(tx, deps, {"dataset_id": event.dataset_id}, gone)


async def forget_version(event: DatasetVersionDeleted, deps: Deps) -> None:
    """As `forget_dataset`, of one version."""
    sentence = f"Version {event.version} of data set {event.dataset_id} was deleted; train on another version."
    gone = Failure(code="version_deleted", sentence=sentence)
    where = {"dataset_id": event.dataset_id, "version": event.version}
    async with deps.unit_of_work(cause=event) as tx:
        known = KnownVersion.model_validate(
            {"id": f"{event.dataset_id}/{event.version}", "project_id": event.project_id, **where, "failure": gone}
        )
        await tx.records(KnownVersion).save(known)
        await _end_runs(tx, deps, where, gone)


async def why_no_run(tx: UnitOfWork, dataset_id: str) -> Failure | None:
    """A deleted data set starts nothing, whatever arrives late."""
    if await tx.records(DeletedDataset).get(dataset_id) is None:
        return None
    return Failure(code="dataset_deleted", sentence=f"Data set {dataset_id} was deleted; train on another data set.")


async def _end_runs(tx: UnitOfWork, deps: Deps, where: dict[str, object], reason: Failure) -> None:
    for run in await tx.records(Run).find({**where, "state": {"$in": list(LIVE)}}):
        await fail(tx, deps, run, reason)


async def _why_version_stays(tx: UnitOfWork, model_id: str, version: int) -> Failure | None:
    model = await tx.records(Model).get(model_id)
    if model is None or version > model.last_version:
        return _unknown(f"{model_id}/{version}")
    naming = [alias for alias in await tx.records(Alias).find({"model_id": model_id}) if alias.version == version]
    if not naming:
        return None
    names = ", ".join(sorted(alias.alias for alias in naming))
    sentence = f"Version {version} of model {model_id} is published as {names}; publish another version there first."
    return Failure(code="alias_names_version", sentence=sentence)


def _unknown(target: str) -> Failure:
    return Failure(code="model_unknown", sentence=f"There is no model {target}.")
