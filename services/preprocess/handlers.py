"""What preprocess does with each event."""

import asyncio

from chassis.deps import Handlers
from chassis.manifests import MEDIA_TYPE, write_manifest, write_rejections
from chassis.replaying import rearm
from chassis.unit_of_work import UnitOfWork
from schemas.base import Event
from schemas.dataset import (
    DatasetVersionIngested,
    ImportAccepted,
    ImportRejected,
    SamplesIngested,
    SamplesPreprocessed,
)
from schemas.deadletter import DeadLetterReplayRequested
from schemas.deletion import DatasetDeleted, DatasetVersionDeleteRequested
from services.preprocess.chunk_reading import ReadChunk
from services.preprocess.deleting import delete_version, forget_dataset
from services.preprocess.deps import PreprocessDeps
from services.preprocess.records import Chunk, Version, version_id
from services.preprocess.version_closing import close_complete_versions, reject_version


async def open_version(event: ImportAccepted, deps: PreprocessDeps) -> None:
    """The version exists from now on: later ones of the data set wait for it."""
    async with deps.unit_of_work(cause=event) as tx:
        await _open_or_found(tx, event, deps)


async def read_chunk(event: SamplesIngested, deps: PreprocessDeps) -> None:
    """Decode every sample of the chunk, then close the version if this was its last."""
    await store_chunk(event, deps, cause=event)
    await close_complete_versions(event.dataset_id, deps)


async def expect_chunks(event: DatasetVersionIngested, deps: PreprocessDeps) -> None:
    """Learn how many chunks make the version whole, and close it if all are there."""
    async with deps.unit_of_work(cause=event) as tx:
        await note_chunk_count(tx, event, deps)
    await close_complete_versions(event.dataset_id, deps)


async def end_version(event: ImportRejected, deps: PreprocessDeps) -> None:
    """An import without anything usable rejects its version; later ones need not wait for it."""
    async with deps.unit_of_work(cause=event) as tx:
        version = await _open_or_found(tx, event, deps)
        await reject_version(tx, version, event.failure, deps)
    await close_complete_versions(event.dataset_id, deps)


async def store_chunk(event: SamplesIngested, deps: PreprocessDeps, cause: Event | None) -> None:
    """Read the chunk and announce it, unless it is there already; `cause` is the event where it was delivered."""
    if await deps.database.get(Chunk.COLLECTION, event.key) is not None:
        return
    chunk = await asyncio.to_thread(_read, event, deps)
    async with deps.unit_of_work(cause=cause) as tx:
        if await tx.records(Chunk).get(chunk.id) is not None:
            return
        await tx.records(Chunk).add(chunk)
        tx.emit(
            SamplesPreprocessed(
                project_id=event.project_id,
                dataset_id=event.dataset_id,
                version=event.version,
                chunk=event.chunk,
                manifest=chunk.manifest,
                sample_count=chunk.sample_count,
                rejected_count=chunk.rejected_count,
            )
        )


async def note_chunk_count(tx: UnitOfWork, event: DatasetVersionIngested, deps: PreprocessDeps) -> None:
    """A version that has ended stays as it is."""
    version = await _open_or_found(tx, event, deps)
    if version.status == "open":
        noted = version.changed(
            task=event.task,
            auto_train=event.auto_train,
            expected_chunks=event.chunk_count,
            archive_rejections=event.rejections,
        )
        await tx.records(Version).save(noted)


def _read(event: SamplesIngested, deps: PreprocessDeps) -> Chunk:
    """Blocking: seconds of decoding."""
    outcome: ReadChunk = deps.reader.read(event)
    manifest = deps.blobs.put(event.project_id, write_manifest(outcome.manifest), MEDIA_TYPE)
    rejections = None
    if outcome.rejections:
        rejections = deps.blobs.put(event.project_id, write_rejections(outcome.rejections), MEDIA_TYPE)
    return Chunk(
        id=event.key,
        project_id=event.project_id,
        dataset_version=version_id(event.dataset_id, event.version),
        chunk=event.chunk,
        manifest=manifest,
        rejections=rejections,
        sample_count=len(outcome.manifest.samples),
        rejected_count=len(outcome.rejections),
        created_at=deps.clock.now(),
    )


async def _open_or_found(
    tx: UnitOfWork, event: ImportAccepted | ImportRejected | DatasetVersionIngested, deps: PreprocessDeps
) -> Version:
    found = await tx.records(Version).get(version_id(event.dataset_id, event.version))
    if found is not None:
        return found
    opened = Version(
        id=version_id(event.dataset_id, event.version),
        project_id=event.project_id,
        dataset_id=event.dataset_id,
        version=event.version,
        created_at=deps.clock.now(),
    )
    await tx.records(Version).add(opened)
    return opened


HANDLERS: Handlers = {
    ImportAccepted: open_version,
    ImportRejected: end_version,
    SamplesIngested: read_chunk,
    DatasetVersionIngested: expect_chunks,
    DatasetVersionDeleteRequested: delete_version,
    DatasetDeleted: forget_dataset,
    DeadLetterReplayRequested: rearm,
}
