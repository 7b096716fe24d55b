"""Upload sessions in memory, with the behaviour of the real ones."""

import hashlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.sessions import OpenSession, Part, Session, SessionGone, missing
from chassis.clock import Clock
from schemas.base import BlobRef


@dataclass
class _Open:
    since: OpenSession
    media_type: str
    parts: dict[Part, bytes] = field(default_factory=dict)


class FakeUploadSessions:
    """Finished objects lie in `store`; while that does not answer, neither does this."""

    def __init__(self, store: FakeBlobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._open: dict[Session, _Open] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def open(self, key: str, media_type: str) -> Session:
        """See UploadSessions."""
        self._store.ping()
        session = Session(key, f"session-{next(self._numbers)}")
        self._open[session] = _Open(OpenSession(session, self._clock.now()), media_type)
        return session

    def put_part(self, session: Session, number: int, path: Path) -> Part:
        """See UploadSessions."""
        content = path.read_bytes()
        part = Part(number, len(content), hashlib.md5(content, usedforsecurity=False).hexdigest())
        with self._lock:
            self._found(session).parts[part] = content
        return part

    def complete(self, session: Session, parts: Sequence[Part]) -> None:
        """See UploadSessions."""
        with self._lock:
            found = self._found(session)
            content = b"".join(found.parts[part] for part in parts)
            self._store.put_named(session.key, content, found.media_type)
            del self._open[session]

    def abort(self, session: Session) -> None:
        """See UploadSessions."""
        self._store.ping()
        self._open.pop(session, None)

    def opened(self, prefix: str) -> Iterator[OpenSession]:
        """See UploadSessions."""
        self._store.ping()
        return iter([one.since for session, one in self._open.items() if session.key.startswith(prefix)])

    def describe(self, key: str, media_type: str) -> BlobRef:
        """See UploadSessions."""
        content = self._store.get_named(key)
        return BlobRef(key=key, size=len(content), sha256=hashlib.sha256(content).hexdigest(), media_type=media_type)

    def _found(self, session: Session) -> _Open:
        self._store.ping()
        if session not in self._open:
            raise SessionGone(missing(session))
        return self._open[session]
