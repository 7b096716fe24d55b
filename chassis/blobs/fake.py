"""A blob store in memory, with the behaviour of the real one."""

import hashlib
import os
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from chassis.blobs.ports import BlobEntry, BlobMissing, content_key
from chassis.blobs.verify import check, missing
from chassis.clock import Clock, SystemClock
from chassis.errors import ServerUnavailable
from schemas.base import BlobRef


class FakeBlobStore:
    """Set `answering` to False and every call raises ServerUnavailable. `objects` maps keys to contents."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.answering = True
        self.objects: dict[str, bytes] = {}
        self._modified: dict[str, datetime] = {}
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        """See BlobStore."""
        sha256 = hashlib.sha256(content).hexdigest()
        ref = BlobRef(key=content_key(project_id, sha256), size=len(content), sha256=sha256, media_type=media_type)
        self.put_named(ref.key, content, media_type)
        return ref

    def put_file(self, project_id: str, path: Path, media_type: str) -> BlobRef:
        """See BlobStore."""
        return self.put(project_id, path.read_bytes(), media_type)

    def get(self, ref: BlobRef) -> bytes:
        """See BlobStore."""
        content = self.get_named(ref.key)
        check(ref, len(content), hashlib.sha256(content).hexdigest())
        return content

    def fetch(self, ref: BlobRef, path: Path) -> None:
        """See BlobStore."""
        part = path.with_name(f".{path.name}.{threading.get_ident()}.part")
        part.write_bytes(self.get(ref))
        os.replace(part, path)

    def put_named(self, key: str, content: bytes, media_type: str) -> None:
        """See BlobStore."""
        self.ping()
        with self._lock:
            self.objects[key] = bytes(content)
            self._modified[key] = self._clock.now()

    def get_named(self, key: str) -> bytes:
        """See BlobStore."""
        self.ping()
        with self._lock:
            if key not in self.objects:
                raise BlobMissing(missing(key))
            return self.objects[key]

    def keys(self, prefix: str) -> Iterator[str]:
        """See BlobStore."""
        self.ping()
        with self._lock:
            found = sorted(key for key in self.objects if key.startswith(prefix))
        return iter(found)

    def entries(self, prefix: str) -> Iterator[BlobEntry]:
        """See BlobStore."""
        return iter([self.entry(key) for key in self.keys(prefix)])

    def entry(self, key: str) -> BlobEntry:
        """See BlobStore."""
        return BlobEntry(key, len(self.get_named(key)), self._modified[key])

    def delete(self, key: str) -> None:
        """See BlobStore."""
        self.ping()
        with self._lock:
            self.objects.pop(key, None)

    def ping(self) -> None:
        """See BlobStore."""
        if not self.answering:
            raise ServerUnavailable("blobs_unavailable", "the fake blob store was told not to answer")
