"""Closes a version once all its chunks are there, whichever event was the last to arrive."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from chassis.errors import WriteConflict
from chassis.manifests import MEDIA_TYPE, Manifest, read_manifest, read_rejections, write_manifest, write_rejections
from chassis.records import Repository
from chassis.unit_of_work import UnitOfWork
from learning.registry import get_task
from schemas.base import Failure
from schemas.dataset import DatasetVersionReady, DatasetVersionRejected
from services.preprocess.closing import ClosedVersion, close_version
from services.preprocess.deps import PreprocessDeps
from services.preprocess.duplicates import without_relabelled
from services.preprocess.records import Chunk, ClassCount, FindingRecord, Version

log = logging.getLogger(__name__)

CONFLICT_ATTEMPTS = 5


async def close_complete_versions(dataset_id: str, deps: PreprocessDeps) -> None:
    """Close each open version of the data set that is whole, in the order of their numbers.

    A version builds upon the one before it, so it stays open while an earlier one is.
    """
    versions = Repository(deps.database, Version)
    waiting = await versions.find({"dataset_id": dataset_id, "status": "open"})
    for version in sorted(waiting, key=lambda version: version.version):
        chunks = await chunks_of(version, deps)
        if version.expected_chunks is None or len(chunks) < version.expected_chunks:
            return
        await _close(version, chunks, deps)


async def chunks_of(version: Version, deps: PreprocessDeps) -> list[Chunk]:
    """The chunks of a version that have been read."""
    return await Repository(deps.database, Chunk).find({"dataset_version": version.id})


async def reject_version(tx: UnitOfWork, version: Version, failure: Failure, deps: PreprocessDeps) -> None:
    """End a version that can no longer become whole. Nothing happens when it has ended already."""
    rejected = version.changed(status="rejected", failure=failure, ended_at=deps.clock.now())
    if await _replace_open(tx, rejected):
        tx.emit(_rejected(rejected, failure))


async def _close(version: Version, chunks: Sequence[Chunk], deps: PreprocessDeps) -> None:
    base = await _base(version, deps)
    closed, changes = await asyncio.to_thread(_merge, version, base, chunks, deps)
    ended = version.changed(ended_at=deps.clock.now(), **changes)
    for attempt in range(1, CONFLICT_ATTEMPTS + 1):
        try:
            async with deps.unit_of_work() as tx:
                is_first = await _replace_open(tx, ended)
                if is_first:
                    tx.emit(_outcome(ended, closed))
        except WriteConflict:
            # Another task closes it, or the data set's revision was raised; the sweep would come back to it too.
            if attempt == CONFLICT_ATTEMPTS:
                raise
        else:
            if is_first:
                log.info("version %s is %s: %d samples", ended.id, ended.status, ended.sample_count)
            return


async def _base(version: Version, deps: PreprocessDeps) -> Version | None:
    """The version before, ready or not: classes may be uploaded one after the other. A deleted one has no samples."""
    others = await Repository(deps.database, Version).find({"dataset_id": version.dataset_id})
    earlier = [other for other in others if other.version < version.version and other.manifest is not None]
    return max(earlier, key=lambda other: other.version, default=None)


def _merge(
    version: Version, base: Version | None, chunks: Sequence[Chunk], deps: PreprocessDeps
) -> tuple[ClosedVersion, dict[str, Any]]:
    """The closed version with its blobs stored, and what changes in its record. Blocking."""
    blobs = deps.blobs
    parts = [read_manifest(blobs.get(chunk.manifest)) for chunk in chunks]
    before = Manifest((), ())
    if base is not None and base.manifest is not None:
        before = read_manifest(blobs.get(base.manifest))
        if base.status == "rejected":
            before = without_relabelled(before, parts)
    lists = [version.archive_rejections, *(chunk.rejections for chunk in chunks)]
    refused = [refusal for ref in lists if ref is not None for refusal in read_rejections(blobs.get(ref))]
    closed = close_version(before, parts, refused, get_task(version.task).check)
    rejections = None
    if closed.rejections:
        rejections = blobs.put(version.project_id, write_rejections(closed.rejections), MEDIA_TYPE)
    changes = {
        "status": "ready" if closed.failure is None else "rejected",
        "failure": closed.failure,
        "sample_count": len(closed.manifest.samples),
        "rejected_count": len(closed.rejections),
        "manifest": blobs.put(version.project_id, write_manifest(closed.manifest), MEDIA_TYPE),
        "rejections": rejections,
        "classes": [ClassCount(id=c.id, name=c.name, count=closed.class_counts[c.id]) for c in closed.manifest.classes],
        "split_counts": closed.split_counts,
        "findings": [FindingRecord(**vars(finding)) for finding in closed.findings],
    }
    return closed, changes


def _outcome(ended: Version, closed: ClosedVersion) -> DatasetVersionReady | DatasetVersionRejected:
    if closed.failure is not None or ended.manifest is None:
        return _rejected(ended, closed.failure or Failure(code="no_manifest", sentence="The version has no samples."))
    return DatasetVersionReady(
        project_id=ended.project_id,
        dataset_id=ended.dataset_id,
        version=ended.version,
        task=ended.task,
        auto_train=ended.auto_train,
        manifest=ended.manifest,
        sample_count=ended.sample_count,
        rejected_count=ended.rejected_count,
        class_count=len(ended.classes),
        split_counts=ended.split_counts,
    )


def _rejected(ended: Version, failure: Failure) -> DatasetVersionRejected:
    return DatasetVersionRejected(
        project_id=ended.project_id, dataset_id=ended.dataset_id, version=ended.version, failure=failure
    )


async def _replace_open(tx: UnitOfWork, ended: Version) -> bool:
    """Compare and set: only an open version ends, and it ends once."""
    changes = ended.to_document()
    del changes["_id"]
    return await tx.documents.update(Version.COLLECTION, ended.id, changes, expected={"status": "open"})
