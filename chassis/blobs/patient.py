"""A blob store that waits while the server is away: for job processes, whose work is too dear to begin again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from chassis.blobs.ports import BlobEntry, BlobStore
from chassis.errors import ServerUnavailable
from schemas.base import BlobRef

T = TypeVar("T")

PATIENCE_S = 180.0


class PatientBlobStore:
    """Every call of `store` is repeated until the server answers; after `patience_s` it raises ServerUnavailable."""

    def __init__(self, store: BlobStore, patience_s: float = PATIENCE_S) -> None:
        self._store = store
        self._patience_s = patience_s

    def put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        """See BlobStore."""
        return self._call(lambda: self._store.put(project_id, content, media_type))

    def put_file(self, project_id: str, path: Path, media_type: str) -> BlobRef:
        """See BlobStore."""
        return self._call(lambda: self._store.put_file(project_id, path, media_type))

    def get(self, ref: BlobRef) -> bytes:
        """See BlobStore."""
        return self._call(lambda: self._store.get(ref))

    def fetch(self, ref: BlobRef, path: Path) -> None:
        """See BlobStore."""
        self._call(lambda: self._store.fetch(ref, path))

    def put_named(self, key: str, content: bytes, media_type: str) -> None:
        """See BlobStore."""
        self._call(lambda: self._store.put_named(key, content, media_type))

    def get_named(self, key: str) -> bytes:
        """See BlobStore."""
        return self._call(lambda: self._store.get_named(key))

    def keys(self, prefix: str) -> Iterator[str]:
        """See BlobStore. The list is complete before the first key comes."""
        return iter(self._call(lambda: list(self._store.keys(prefix))))

    def entries(self, prefix: str) -> Iterator[BlobEntry]:
        """See BlobStore. The list is complete before the first entry comes."""
        return iter(self._call(lambda: list(self._store.entries(prefix))))

    def entry(self, key: str) -> BlobEntry:
        """See BlobStore."""
        return self._call(lambda: self._store.entry(key))

    def delete(self, key: str) -> None:
        """See BlobStore."""
        self._call(lambda: self._store.delete(key))

    def ping(self) -> None:
        """See BlobStore. Not repeated: who asks wants to know how it is now."""
        self._store.ping()

    def _call(self, operation: Callable[[], T]) -> T:
        retrying = Retrying(
            retry=retry_if_exception_type(ServerUnavailable),
            stop=stop_after_delay(self._patience_s),
            wait=wait_exponential(multiplier=0.2, max=5),
            reraise=True,
        )
        return retrying(operation)
