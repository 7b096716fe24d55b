"""Deleting data sets, and forgetting what belonged to a version that preprocess deleted.

A data set leaves its record behind, marked: its id and its version numbers are never given again.
"""

from chassis.deps import Deps
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deletion import DatasetDeleted, DatasetDeleteRefused, DatasetDeleteRequested, DatasetVersionDeleted
from services.deletion_outcomes import run_under_way, write_down
from services.ingest.deps import IngestDeps
from services.ingest.records import Chunk, Dataset, Import


async def delete_dataset(event: DatasetDeleteRequested, deps: IngestDeps) -> None:
    """Delete it with its imports unless something still needs it; deleting what is deleted changes nothing.

    Imports are judged within the transaction. Versions and runs belong to others, who end what began meanwhile.
    """
    needed = await run_under_way(deps.registry, event.dataset_id) or await _version_under_way(event.dataset_id, deps)
    async with deps.unit_of_work(cause=event) as tx:
        dataset = await tx.records(Dataset).get(event.dataset_id)
        imports = await tx.records(Import).find({"dataset_id": event.dataset_id})
        failure = _unknown(event.dataset_id) if dataset is None else _import_under_way(imports) or needed
        facts = event.model_dump(include={"project_id", "deletion_id", "actor", "dataset_id"})
        if dataset is None or (failure is not None and dataset.deleted_at is None):
            refused = DatasetDeleteRefused.model_validate({**facts, "failure": failure})
            await write_down(tx, deps, event, event.dataset_id, refused, failure)
            return
        for found in imports:
            await tx.records(Import).delete(found.id)
            await _delete_chunks(tx, f"{found.dataset_id}/{found.version}")
        await tx.records(Dataset).save(dataset.changed(deleted_at=dataset.deleted_at or deps.clock.now()))
        await write_down(tx, deps, event, event.dataset_id, DatasetDeleted.model_validate(facts))


async def forget_version(event: DatasetVersionDeleted, deps: Deps) -> None:
    """The raw chunks of a version go with it; that there was an import stays known."""
    async with deps.unit_of_work(cause=event) as tx:
        await _delete_chunks(tx, f"{event.dataset_id}/{event.version}")
        for found in await tx.records(Import).find({"dataset_id": event.dataset_id}):
            if found.version == event.version:
                await tx.records(Import).save(found.changed(rejections=None))


async def _delete_chunks(tx: UnitOfWork, dataset_version: str) -> None:
    for chunk in await tx.records(Chunk).find({"dataset_version": dataset_version}):
        await tx.records(Chunk).delete(chunk.id)


def _import_under_way(imports: list[Import]) -> Failure | None:
    reading = next((found for found in imports if found.status == "accepted"), None)
    if reading is None:
        return None
    sentence = f"Import {reading.id} ({reading.file_name}) is being read; wait until it has ended, then delete."
    return Failure(code="import_under_way", sentence=sentence)


async def _version_under_way(dataset_id: str, deps: IngestDeps) -> Failure | None:
    """A version is made of an import after ingest has done its part."""
    for row in await deps.database.find(Import.COLLECTION, {"dataset_id": dataset_id}):
        if row["status"] != "ingested":
            continue
        version = await deps.preprocess.get("versions", f"{dataset_id}/{row['version']}")
        if version is None or version["status"] == "open":
            sentence = f"Version {row['version']} is being prepared; wait until it is ready, then delete."
            return Failure(code="version_under_way", sentence=sentence)
    return None


def _unknown(dataset_id: str) -> Failure:
    return Failure(code="dataset_unknown", sentence=f"There is no data set {dataset_id}.")
