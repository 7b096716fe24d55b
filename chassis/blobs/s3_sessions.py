"""Uploads in parts over any S3 server.

The SDK has these calls for its own use only: its public `put_object` hides the session, and a session that can be gone
on with after a restart is the whole point here. They are the plain operations of the S3 API, one request each.
"""

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from minio.datatypes import Part as S3Part

from chassis.blobs.s3_connection import CHUNK_BYTES, connect, opened, session_translated, translated
from chassis.blobs.sessions import OpenSession, Part, Session
from schemas.base import BlobRef

PAGE = 1000


class S3UploadSessions:
    """Those of one bucket."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, bucket: str, *, secure: bool = False) -> None:
        self._bucket = bucket
        self._client: Any = connect(endpoint, access_key, secret_key, secure=secure)

    def open(self, key: str, media_type: str) -> Session:
        """See UploadSessions."""
        with translated(key):
            headers = {"Content-Type": media_type}
            return Session(key, self._client._create_multipart_upload(self._bucket, key, headers))

    def put_part(self, session: Session, number: int, path: Path) -> Part:
        """See UploadSessions."""
        # Mapped: what the SDK takes as bytes is then read from the file while it is sent.
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            with session_translated(session):
                tag = self._client._upload_part(self._bucket, session.key, content, None, session.id, number)
            return Part(number, len(content), tag)

    def complete(self, session: Session, parts: Sequence[Part]) -> None:
        """See UploadSessions."""
        with session_translated(session):
            asked = [S3Part(part.number, part.tag) for part in parts]
            self._client._complete_multipart_upload(self._bucket, session.key, session.id, asked)

    def abort(self, session: Session) -> None:
        """See UploadSessions."""
        with translated(session.key):
            self._client._abort_multipart_upload(self._bucket, session.key, session.id)

    def opened(self, prefix: str) -> Iterator[OpenSession]:
        """See UploadSessions."""
        # One page: SeaweedFS names no markers for the next, and does not take those of the S3 API as they are meant.
        with translated(prefix):
            page = self._client._list_multipart_uploads(self._bucket, prefix=prefix, max_uploads=PAGE)
        for found in page.uploads:
            yield OpenSession(Session(found.object_name, found.upload_id), found.initiated_time)

    def describe(self, key: str, media_type: str) -> BlobRef:
        """See UploadSessions."""
        digest, size = hashlib.sha256(), 0
        with opened(self._client, self._bucket, key) as body:
            for chunk in body.stream(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
        return BlobRef(key=key, size=size, sha256=digest.hexdigest(), media_type=media_type)
