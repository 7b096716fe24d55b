"""Uploads in parts that outlive any process: the port of S3's multipart sessions. Blocking, safe between threads.

A session is opened for a key, takes numbered parts in any order and any number of times, and becomes one object. Every
part but the last has at least MIN_PART_BYTES (S3's rule).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from schemas.base import BlobRef

MIN_PART_BYTES = 5 << 20
MAX_PARTS = 10_000


class SessionGone(Exception):
    """The session was completed or aborted, or there never was one."""


@dataclass(frozen=True)
class Session:
    """An upload under way: the key of the object it becomes, and the store's own id of it."""

    key: str
    id: str


@dataclass(frozen=True)
class OpenSession:
    """One of those that were neither completed nor aborted, and since when."""

    session: Session
    opened_at: datetime


@dataclass(frozen=True)
class Part:
    """A part that arrived; `number` begins at 1, `size` is bytes, `tag` the store's own mark of the content.

    Whoever sends parts keeps these: of a part that was sent twice, the tag alone says which one counts.
    """

    number: int
    size: int
    tag: str


class UploadSessions(Protocol):
    """Raises ServerUnavailable when the server does not answer."""

    def open(self, key: str, media_type: str) -> Session:
        """Begin."""

    def put_part(self, session: Session, number: int, path: Path) -> Part:
        """Store the content of a file, which is not empty, as that part. Raises SessionGone."""

    def complete(self, session: Session, parts: Sequence[Part]) -> None:
        """Make the object out of these parts, given by number.

        Raises SessionGone, where the session was completed before too, unless the store answers as it did then.
        """

    def abort(self, session: Session) -> None:
        """Give the session up with its parts. Idempotent."""

    def opened(self, prefix: str) -> Iterator[OpenSession]:
        """Those that are open for keys that begin so; a thousand at most, so ask again when some were aborted."""

    def describe(self, key: str, media_type: str) -> BlobRef:
        """The reference of a finished object, found by reading all of it. Raises BlobMissing."""


def missing(session: Session) -> str:
    """The sentence of a SessionGone."""
    return f"there is no open upload session for {session.key}; it was completed or given up: begin a new one"
