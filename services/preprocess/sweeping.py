"""The sweep: finds what lost events leave behind, from what ingest wrote down. Every repair is safe to do twice."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from chassis.clock import rfc3339
from chassis.documents.ports import Document
from chassis.errors import WriteConflict
from chassis.failures import FailedEvent
from chassis.records import Repository
from schemas.base import Failure
from schemas.dataset import DatasetVersionIngested, SamplesIngested
from services.preprocess.deps import PreprocessDeps
from services.preprocess.handlers import note_chunk_count, store_chunk
from services.preprocess.records import Chunk, Version, version_id
from services.preprocess.version_closing import chunks_of, close_complete_versions, reject_version

log = logging.getLogger(__name__)

INTERVAL_S = 5.0
QUIET_S = 30.0
LOOK_BACK = timedelta(days=1)


async def sweep_turn(deps: PreprocessDeps) -> None:
    """One sweep, then a pause."""
    try:
        await sweep(deps)
    except WriteConflict:
        log.info("a handler was at the same version; the next sweep looks again")
    await asyncio.sleep(INTERVAL_S)


async def sweep(deps: PreprocessDeps) -> None:
    """Close what is whole, end what cannot become whole, fetch what never arrived."""
    await _open_unseen(deps)
    waiting = await Repository(deps.database, Version).find({"status": "open"})
    for dataset_id in sorted({version.dataset_id for version in waiting}):
        await close_complete_versions(dataset_id, deps)
    for version in await Repository(deps.database, Version).find({"status": "open"}):
        await _look_after(version, deps)


async def _look_after(version: Version, deps: PreprocessDeps) -> None:
    chunks = await chunks_of(version, deps)
    if failure := await _dead_chunk(version, chunks, deps):
        async with deps.unit_of_work() as tx:
            await reject_version(tx, version, failure, deps)
    elif _is_quiet(version, chunks, deps.clock.now()):
        await _fetch_missing(version, chunks, deps)


def _is_quiet(version: Version, chunks: Sequence[Chunk], now: datetime) -> bool:
    last = max([version.created_at, *(chunk.created_at for chunk in chunks)])
    return (now - last).total_seconds() >= QUIET_S


async def _dead_chunk(version: Version, chunks: Sequence[Chunk], deps: PreprocessDeps) -> Failure | None:
    """Why a chunk of the version can never be read; None when none was given up on."""
    read = {chunk.chunk for chunk in chunks}
    for number in set(range(version.expected_chunks or 0)) - read:
        rows = await Repository(deps.database, FailedEvent).find({"key": f"{version.id}/{number}", "status": "dead"})
        if rows:
            sentence = (
                f"Chunk {number} of the archive could not be read ({rows[0].sentence}); upload the archive again."
            )
            return Failure(code="chunk_failed", sentence=sentence)
    return None


async def _open_unseen(deps: PreprocessDeps) -> None:
    """Versions of which not a single event came through."""
    since = rfc3339(deps.clock.now() - LOOK_BACK)
    for found in await deps.ingest.find("imports", {"status": "ingested", "ended_at": {"$gte": since}}):
        version = version_id(found["dataset_id"], found["version"])
        if await deps.database.get(Version.COLLECTION, version) is None:
            log.warning("version %s was never announced here; it is taken from what ingest wrote down", version)
            await _note(found, deps)


async def _fetch_missing(version: Version, chunks: Sequence[Chunk], deps: PreprocessDeps) -> None:
    announced = await deps.ingest.find("chunks", {"dataset_version": version.id})
    imports = await deps.ingest.find("imports", {"dataset_id": version.dataset_id})
    found = next((row for row in imports if row["version"] == version.version), None)
    if found is None:
        return
    if found["status"] == "ingested" and version.expected_chunks is None:
        await _note(found, deps)
    read = {chunk.chunk for chunk in chunks}
    for row in (row for row in announced if row["chunk"] not in read):
        log.warning("chunk %s never arrived; it is taken from what ingest wrote down", row["_id"])
        await store_chunk(await _chunk_event(row, version, deps), deps, cause=None)
    await close_complete_versions(version.dataset_id, deps)


async def _chunk_event(row: Document, version: Version, deps: PreprocessDeps) -> SamplesIngested:
    dataset = await _dataset(version.dataset_id, deps)
    return SamplesIngested(
        project_id=row["project_id"],
        dataset_id=version.dataset_id,
        version=version.version,
        chunk=row["chunk"],
        task=dataset["task"],
        samples=row["samples"],
        sample_count=row["sample_count"],
    )


async def _note(found: Document, deps: PreprocessDeps) -> None:
    dataset = await _dataset(found["dataset_id"], deps)
    event = DatasetVersionIngested(
        project_id=found["project_id"],
        dataset_id=found["dataset_id"],
        version=found["version"],
        import_id=found["_id"],
        task=dataset["task"],
        auto_train=dataset["auto_train"],
        chunk_count=found["chunk_count"],
        sample_count=found["sample_count"],
        rejected_count=found["rejected_count"],
        rejections=found["rejections"],
    )
    async with deps.unit_of_work() as tx:
        await note_chunk_count(tx, event, deps)


async def _dataset(dataset_id: str, deps: PreprocessDeps) -> dict[str, Any]:
    dataset = await deps.ingest.get("datasets", dataset_id)
    if dataset is None:
        raise LookupError(f"ingest has an import but no data set {dataset_id}")
    return dataset
