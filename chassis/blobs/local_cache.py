"""Blobs on the local disk, by content hash, shared by all processes of this machine."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from pathlib import Path

from chassis.blobs.ports import BlobStore
from schemas.base import BlobRef

FETCH_THREADS = 16
MAX_BYTES = 20 * 1024**3
IN_USE_S = 6 * 3600.0
"""A file that was asked for so recently may be in use by another process and is never evicted."""


class LocalBlobCache:
    """Files `<folder>/<ab>/<sha256>`, whole or absent, verified each time they are handed out.

    Needs no lock: a file appears at once, and two processes that fetch the same blob write the same content.
    """

    def __init__(self, blobs: BlobStore, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._blobs = blobs
        self._folder = folder
        self._max_bytes = max_bytes

    def path_of(self, sha256: str) -> Path:
        """Where the blob with this hash lies once it is here."""
        return self._folder / sha256[:2] / sha256

    def fetch_all(self, refs: Sequence[BlobRef], progress: Callable[[float], None]) -> dict[str, Path]:
        """Hash -> local file of every blob; `progress` is called with the finished fraction.

        Raises what `BlobStore.fetch` raises for the first blob that cannot be had.
        """
        unique = {ref.sha256: ref for ref in refs}
        fetched = 0
        with ThreadPoolExecutor(FETCH_THREADS, thread_name_prefix="fetch") as threads:
            try:
                for done, was_fetched in enumerate(threads.map(self._ensure, unique.values()), start=1):
                    fetched += was_fetched
                    progress(done / len(unique))
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise
        if fetched:
            self.evict()
        return {sha256: self.path_of(sha256) for sha256 in unique}

    def evict(self) -> int:
        """Delete the files longest unused until the cache fits its limit again; how many bytes went."""
        entries = sorted((stat.st_mtime, stat.st_size, path) for path, stat in self._files())
        excess = sum(size for _, size, _ in entries) - self._max_bytes
        newest_evictable = time.time() - IN_USE_S
        freed = 0
        for used_at, size, path in entries:
            if freed >= excess or used_at > newest_evictable:
                break
            path.unlink(missing_ok=True)
            freed += size
        return freed

    def _ensure(self, ref: BlobRef) -> bool:
        """Whether it had to be fetched."""
        path = self.path_of(ref.sha256)
        if _is_whole(path, ref):
            os.utime(path)  # the time of the last use, for the eviction
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._blobs.fetch(ref, path)
        return True

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for path in self._folder.glob("??/*"):
            try:
                found.append((path, path.stat()))
            except FileNotFoundError:  # another process evicted it meanwhile
                continue
        return found


def _is_whole(path: Path, ref: BlobRef) -> bool:
    try:
        if path.stat().st_size != ref.size:
            return False
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest() == ref.sha256
    except FileNotFoundError:
        return False
