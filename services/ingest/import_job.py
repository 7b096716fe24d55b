"""The import process: read an archive once, store each sample, say each chunk. Deterministic, so that it can run again.

Messages: {"chunk": {chunk, samples, sample_count}}, in order. Result: {"counts": {...}, "failure": null or Failure}.
"""

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from chassis.blobs.ports import BlobMissing, BlobStore
from chassis.errors import PermanentError, ServerUnavailable
from chassis.failpoints import Failpoints
from chassis.manifests import MEDIA_TYPE, RawSample, Rejection, write_raw, write_rejections
from learning.registry import get_task
from schemas.base import BlobRef
from services.ingest.archive_plan import ArchivePlan, PlannedEntry, Upload, plan_archive
from services.ingest.archives import Archive, ArchiveLimits, EntryDamaged, Read
from services.ingest.opening import open_archive
from services.ingest.rejection_summary import nothing_usable

CHUNK_SAMPLES = 200
UPLOAD_THREADS = 12  # below the size of the store's connection pool; more are no faster
UNDER_WAY_BYTES = 64_000_000
"""Of samples in memory at a time, beside the one that is read next."""
PATIENCE_S = 120.0
AFTER_CHUNK = "ingest.after_chunk"

T = TypeVar("T")
Say = Callable[[dict[str, Any]], None]


@dataclass
class _Outcome:
    """Counts so far, and every refused entry: those named by the plan, then those that could not be read."""

    rejections: list[Rejection]
    chunk_count: int = 0
    sample_count: int = 0


@dataclass(frozen=True)
class ArchiveImport:
    """One import. At most UPLOAD_THREADS samples of `under_way_bytes` in all, and the next, are in memory at a time.

    A store that is away is waited for, up to `patience_s`, so that a short outage costs no attempt of the job.
    """

    blobs: BlobStore
    limits: ArchiveLimits
    scratch: Path
    failpoints: Failpoints = field(default_factory=lambda: Failpoints({}, Path()))
    chunk_samples: int = CHUNK_SAMPLES
    under_way_bytes: int = UNDER_WAY_BYTES
    patience_s: float = PATIENCE_S

    def run(self, order: dict[str, Any], say: Say) -> dict[str, Any]:
        """Returns the job's result. Raises PermanentError when the file as a whole cannot be read."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.scratch, prefix="import-") as folder:
            path = Path(folder) / "archive.zip"
            self._fetch(BlobRef.model_validate(order["archive"]), path)
            accepts, label = get_task(order["task"]).accepts, order.get("label")
            with closing(open_archive(path, order["file_name"], self.limits, label)) as archive:
                plan = plan_archive(archive, Upload(order["file_name"], accepts, self.limits, label))
                outcome = self._store_all(archive, plan, order["project_id"], say)
        return self._result(outcome, order)

    def _fetch(self, ref: BlobRef, path: Path) -> None:
        try:
            self._patiently(lambda: self.blobs.fetch(ref, path))
        except BlobMissing as error:
            sentence = f"The uploaded archive is gone ({error}); upload it again."
            raise PermanentError("archive_missing", sentence) from error

    def _store_all(self, archive: Archive, plan: ArchivePlan, project_id: str, say: Say) -> _Outcome:
        outcome = _Outcome(list(plan.rejections))
        good = _without_rejections(self._stored(archive, plan, project_id), outcome.rejections)
        while samples := list(islice(good, self.chunk_samples)):
            ref = self._put(project_id, write_raw(samples), MEDIA_TYPE)
            chunk = {"chunk": outcome.chunk_count, "samples": ref.model_dump(mode="json")}
            say({"chunk": {**chunk, "sample_count": len(samples)}})
            outcome.chunk_count += 1
            outcome.sample_count += len(samples)
            self.failpoints.reach(AFTER_CHUNK)
        return outcome

    def _stored(self, archive: Archive, plan: ArchivePlan, project_id: str) -> Iterator[RawSample | Rejection]:
        """In the order of the plan; the next entry is taken in hand when there is room beside those under way."""
        contents = archive.contents(planned.entry for planned in plan.entries)
        under_way: deque[tuple[int, Future[RawSample | Rejection]]] = deque()
        with ThreadPoolExecutor(UPLOAD_THREADS, "upload") as threads:
            for planned, read in zip(plan.entries, contents, strict=True):
                under_way.append((planned.entry.size, threads.submit(self._store, planned, read, project_id)))
                while len(under_way) >= UPLOAD_THREADS or sum(size for size, _ in under_way) > self.under_way_bytes:
                    yield under_way.popleft()[1].result()
            while under_way:
                yield under_way.popleft()[1].result()

    def _store(self, planned: PlannedEntry, read: Read, project_id: str) -> RawSample | Rejection:
        try:
            content = read()
        except EntryDamaged as damage:
            sentence = f"{planned.name}: it cannot be unpacked ({damage}); pack the archive again."
            return Rejection(planned.name, "damaged_entry", sentence)
        return RawSample(planned.name, (planned.label,), self._put(project_id, content, "application/octet-stream"))

    def _put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        return self._patiently(lambda: self.blobs.put(project_id, content, media_type))

    def _patiently(self, call: Callable[[], T]) -> T:
        retrying = Retrying(
            retry=retry_if_exception_type(ServerUnavailable),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            stop=stop_after_delay(self.patience_s),
            reraise=True,
        )
        return retrying(call)

    def _result(self, outcome: _Outcome, order: dict[str, Any]) -> dict[str, Any]:
        rejections = None
        if outcome.rejections:
            rejections = self._put(order["project_id"], write_rejections(outcome.rejections), MEDIA_TYPE)
        counts = {
            "chunk_count": outcome.chunk_count,
            "sample_count": outcome.sample_count,
            "rejected_count": len(outcome.rejections),
            "rejections": None if rejections is None else rejections.model_dump(mode="json"),
        }
        is_empty = outcome.sample_count == 0
        failure = nothing_usable(order["file_name"], outcome.rejections) if is_empty else None
        return {"counts": counts, "failure": None if failure is None else failure.model_dump(mode="json")}


def _without_rejections(stored: Iterator[RawSample | Rejection], rejections: list[Rejection]) -> Iterator[RawSample]:
    for outcome in stored:
        if isinstance(outcome, Rejection):
            rejections.append(outcome)
        else:
            yield outcome
