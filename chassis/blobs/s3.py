"""The blob store over any S3 server (minio SDK)."""

import hashlib
import io
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error
from urllib3.exceptions import HTTPError
from urllib3.util import Retry, Timeout

from chassis.blobs.ports import BlobMissing, content_key
from chassis.blobs.verify import check, missing
from chassis.errors import ServerUnavailable
from schemas.base import BlobRef

POOL_SIZE = 16
CONNECT_S = 5.0
READ_S = 30.0
CHUNK_BYTES = 1 << 20
PART_BYTES = 16 << 20
_ABSENT = ("NoSuchKey", "NoSuchObject", "NoSuchVersion")
_THERE = ("BucketAlreadyOwnedByYou", "BucketAlreadyExists")


class _Body(Protocol):
    """An answer whose content is read piece by piece."""

    def stream(self, amt: int) -> Iterator[bytes]:
        """Pieces of at most `amt` bytes."""


class S3BlobStore:
    """One bucket. `endpoint` is host:port; the region is given so that no call is spent on asking for it."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, bucket: str, *, secure: bool = False) -> None:
        self._bucket = bucket
        self._client = Minio(
            endpoint,
            access_key=access_key,
            secret_key=secret_key,
            secure=secure,
            region="us-east-1",
            http_client=urllib3.PoolManager(
                maxsize=POOL_SIZE,
                timeout=Timeout(connect=CONNECT_S, read=READ_S),
                retries=Retry(total=2, backoff_factor=0.2, status_forcelist=(500, 502, 503, 504)),
            ),
        )

    def ensure_bucket(self) -> None:
        """Make the bucket unless it is there. Raises ServerUnavailable."""
        with _translated(self._bucket):
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
            self._upload(content_key(project_id, sha256), file, size, media_type)
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
            with self._opened(ref.key) as body, part.open("wb") as file:
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
        self._upload(key, io.BytesIO(content), len(content), media_type)

    def get_named(self, key: str) -> bytes:
        """See BlobStore."""
        with self._opened(key) as body:
            return b"".join(body.stream(CHUNK_BYTES))

    def keys(self, prefix: str) -> Iterator[str]:
        """See BlobStore."""
        with _translated(prefix):
            for entry in self._client.list_objects(bucket_name=self._bucket, prefix=prefix, recursive=True):
                yield entry.object_name

    def delete(self, key: str) -> None:
        """See BlobStore."""
        with _translated(key):
            self._client.remove_object(bucket_name=self._bucket, object_name=key)

    def ping(self) -> None:
        """See BlobStore."""
        with _translated(self._bucket):
            if not self._client.bucket_exists(bucket_name=self._bucket):
                raise ServerUnavailable("blobs_unavailable", f"bucket {self._bucket} is not there yet; make it first")

    def _upload(self, key: str, content: BinaryIO, size: int, media_type: str) -> None:
        with _translated(key):
            self._client.put_object(
                bucket_name=self._bucket,
                object_name=key,
                data=content,
                length=size,
                content_type=media_type,
                part_size=PART_BYTES,
            )

    @contextmanager
    def _opened(self, key: str) -> Iterator[_Body]:
        with _translated(key):
            answer = self._client.get_object(bucket_name=self._bucket, object_name=key)
            try:
                yield answer
            finally:
                answer.close()
                answer.release_conn()


@contextmanager
def _translated(key: str) -> Iterator[None]:
    """Raises BlobMissing or ServerUnavailable for what the SDK raises."""
    try:
        yield
    except S3Error as error:
        if error.code in _ABSENT:
            raise BlobMissing(missing(key)) from error
        raise _unavailable(key, error) from error
    except (MinioException, HTTPError, ConnectionError, TimeoutError) as error:
        raise _unavailable(key, error) from error


def _unavailable(key: str, error: Exception) -> ServerUnavailable:
    return ServerUnavailable(
        "blobs_unavailable", f"{key}: the object store does not answer ({error}); it is asked again"
    )
