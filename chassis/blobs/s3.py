"""The blob store over any S3 server (minio SDK)."""

import hashlib
import io
import math
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from minio.error import S3Error

from chassis.blobs.ports import BlobEntry, content_key
from chassis.blobs.s3_connection import CHUNK_BYTES, connect, opened, translated
from chassis.blobs.sessions import MAX_PARTS, MIN_PART_BYTES
from chassis.blobs.verify import check
from chassis.errors import ServerUnavailable
from schemas.base import BlobRef

PART_BYTES = 8 << 20  # a few of them are in memory while a file is sent
_THERE = ("BucketAlreadyOwnedByYou", "BucketAlreadyExists")


class S3BlobStore:
    """One bucket. `endpoint` is host:port."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, bucket: str, *, secure: bool = False) -> None:
        self._bucket = bucket
        self._client = connect(endpoint, access_key, secret_key, secure=secure)

    def ensure_bucket(self) -> None:
        """Make the bucket unless it is there. Raises ServerUnavailable."""
        with translated(self._bucket):
            if self._client.bucket_exists(bucket_name=self._bucket):
                return
            try:
                self._client.make_bucket(bucket_name=self._bucket)
            except S3Error as error:
                if error.code not in _THERE:  # another service was faster
                    raise

    def put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        """See BlobStore."""
        sha256 = hashlib.sha256(content).hexdigest()
        ref = BlobRef(key=content_key(project_id, sha256), size=len(content), sha256=sha256, media_type=media_type)
        self.put_named(ref.key, content, media_type)
        return ref

    def put_file(self, project_id: str, path: Path, media_type: str) -> BlobRef:
        """See BlobStore. The file is read twice (hash, upload) and must not change meanwhile."""
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
            file.seek(0)
            part_size = max(PART_BYTES, math.ceil(size / MAX_PARTS))
            self._upload(content_key(project_id, sha256), file, size, media_type, part_size)
        return BlobRef(key=content_key(project_id, sha256), size=size, sha256=sha256, media_type=media_type)

    def get(self, ref: BlobRef) -> bytes:
        """See BlobStore."""
        content = self.get_named(ref.key)
        check(ref, len(content), hashlib.sha256(content).hexdigest())
        return content

    def fetch(self, ref: BlobRef, path: Path) -> None:
        """See BlobStore."""
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
        try:
            with opened(self._client, self._bucket, ref.key) as body, part.open("wb") as file:
                digest, size = hashlib.sha256(), 0
                for chunk in body.stream(CHUNK_BYTES):
                    digest.update(chunk)
                    size += file.write(chunk)
            check(ref, size, digest.hexdigest())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    def put_named(self, key: str, content: bytes, media_type: str) -> None:
        """See BlobStore."""
        # In one part, which the SDK sends as it lies there; of several it would make copies.
        self._upload(key, io.BytesIO(content), len(content), media_type, max(MIN_PART_BYTES, len(content)))

    def get_named(self, key: str) -> bytes:
        """See BlobStore."""
        with opened(self._client, self._bucket, key) as body:
            return b"".join(body.stream(CHUNK_BYTES))

    def keys(self, prefix: str) -> Iterator[str]:
        """See BlobStore."""
        return (entry.key for entry in self.entries(prefix))

    def entries(self, prefix: str) -> Iterator[BlobEntry]:
        """See BlobStore."""
        with translated(prefix):
            for entry in self._client.list_objects(bucket_name=self._bucket, prefix=prefix, recursive=True):
                yield BlobEntry(entry.object_name, entry.size, entry.last_modified)

    def entry(self, key: str) -> BlobEntry:
        """See BlobStore."""
        with translated(key):
            found = self._client.stat_object(bucket_name=self._bucket, object_name=key)
        return BlobEntry(key, found.size, found.last_modified)

    def delete(self, key: str) -> None:
        """See BlobStore."""
        with translated(key):
            self._client.remove_object(bucket_name=self._bucket, object_name=key)

    def ping(self) -> None:
        """See BlobStore."""
        with translated(self._bucket):
            if not self._client.bucket_exists(bucket_name=self._bucket):
                raise ServerUnavailable("blobs_unavailable", f"bucket {self._bucket} is not there yet; make it first")

    def _upload(self, key: str, content: BinaryIO, size: int, media_type: str, part_size: int) -> None:
        with translated(key):
            self._client.put_object(
                bucket_name=self._bucket,
                object_name=key,
                data=content,
                length=size,
                content_type=media_type,
                part_size=part_size,
            )
