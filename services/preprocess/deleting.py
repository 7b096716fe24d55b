"""Deleting versions: one that someone chose, or all of a data set that ingest deleted.

A version leaves its record behind, emptied and marked: its number is never given again, and no sweep opens it anew.
"""

from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deletion import (
    DatasetDeleted,
    DatasetVersionDeleted,
    DatasetVersionDeleteRefused,
    DatasetVersionDeleteRequested,
)
from services.deletion_outcomes import run_under_way, write_down
from services.preprocess.deps import PreprocessDeps
from services.preprocess.records import Chunk, Version, version_id


async def delete_version(event: DatasetVersionDeleteRequested, deps: PreprocessDeps) -> None:
    """Delete it unless something still needs it; deleting what is deleted changes nothing.

    Other versions are judged within the transaction; a run that began meanwhile is ended by the registry.
    """
    target = version_id(event.dataset_id, event.version)
    needed = await run_under_way(deps.registry, event.dataset_id, event.version)
    async with deps.unit_of_work(cause=event) as tx:
        version = await tx.records(Version).get(target)
        failure = _unknown(target) if version is None else await _version_under_way(tx, version) or needed
        facts = event.model_dump(include={"project_id", "deletion_id", "actor", "dataset_id", "version"})
        if version is None or (failure is not None and version.status != "deleted"):
            refused = DatasetVersionDeleteRefused.model_validate({**facts, "failure": failure})
            await write_down(tx, deps, event, target, refused, failure)
            return
        await _empty(tx, version, deps)
        await write_down(tx, deps, event, target, DatasetVersionDeleted.model_validate(facts))


async def forget_dataset(event: DatasetDeleted, deps: PreprocessDeps) -> None:
    """All versions of a data set go with it."""
    async with deps.unit_of_work(cause=event) as tx:
        for version in await tx.records(Version).find({"dataset_id": event.dataset_id}):
            await _empty(tx, version, deps)


async def _empty(tx: UnitOfWork, version: Version, deps: PreprocessDeps) -> None:
    for chunk in await tx.records(Chunk).find({"dataset_version": version.id}):
        await tx.records(Chunk).delete(chunk.id)
    emptied = Version(
        id=version.id,
        project_id=version.project_id,
        dataset_id=version.dataset_id,
        version=version.version,
        task=version.task,
        status="deleted",
        created_at=version.created_at,
        ended_at=deps.clock.now(),
    )
    await tx.records(Version).save(emptied)


async def _version_under_way(tx: UnitOfWork, version: Version) -> Failure | None:
    """An open version keeps its own data, and that of the one it builds upon."""
    waiting = await tx.records(Version).find({"dataset_id": version.dataset_id, "status": "open"})
    if not waiting:
        return None
    number = min(other.version for other in waiting)
    sentence = f"Version {number} is being prepared, and may build upon this one; wait until it is ready, then delete."
    return Failure(code="version_under_way", sentence=sentence)


def _unknown(target: str) -> Failure:
    return Failure(code="version_unknown", sentence=f"There is no version {target}.")
