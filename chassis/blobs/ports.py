"""The object store as the services see it. Blocking and safe to share between threads: call it off the event loop."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from schemas.base import BlobRef


class BlobMissing(Exception):
    """No blob lies under that key."""


class BlobDamaged(Exception):
    """What lies there is not what the reference says (size or hash)."""


@dataclass(frozen=True)
class BlobEntry:
    """An object as the store lists it: `size` in bytes; `modified_at` is its last writing, content changed or not."""

    key: str
    size: int
    modified_at: datetime


def content_key(project_id: str, sha256: str) -> str:
    """Blobs are content-addressed within their project, so a redelivery rewrites the same object."""
    return f"projects/{project_id}/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def thumbnail_key(project_id: str, sha256: str) -> str:
    """Where the thumbnail of a content lies; its longer side has at most 256 pixels."""
    return f"projects/{project_id}/thumb/256/{sha256}"


class BlobStore(Protocol):
    """Raises ServerUnavailable when the server does not answer."""

    def put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        """Store under its content key; writing the same content again is harmless."""

    def put_file(self, project_id: str, path: Path, media_type: str) -> BlobRef:
        """As `put`, streamed from a file."""

    def get(self, ref: BlobRef) -> bytes:
        """Raises BlobMissing, BlobDamaged."""

    def fetch(self, ref: BlobRef, path: Path) -> None:
        """Stream to a file that is whole or absent. Raises BlobMissing, BlobDamaged."""

    def put_named(self, key: str, content: bytes, media_type: str) -> None:
        """Store under a name of the caller's choosing (thumbnails, checkpoints), replacing what was there."""

    def get_named(self, key: str) -> bytes:
        """Raises BlobMissing."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key that begins so."""

    def entries(self, prefix: str) -> Iterator[BlobEntry]:
        """As `keys`, with what is known of each."""

    def entry(self, key: str) -> BlobEntry:
        """What is known of one object now. Raises BlobMissing."""

    def delete(self, key: str) -> None:
        """Idempotent."""

    def ping(self) -> None:
        """Raises ServerUnavailable."""
