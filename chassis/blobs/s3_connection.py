"""The connection to an S3 server (minio SDK), reading from it, and what its errors mean here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error
from urllib3.exceptions import HTTPError
from urllib3.util import Retry, Timeout

from chassis.blobs import sessions
from chassis.blobs.ports import BlobMissing
from chassis.blobs.sessions import Session, SessionGone
from chassis.blobs.verify import missing
from chassis.errors import ServerUnavailable

POOL_SIZE = 16
CONNECT_S = 5.0
READ_S = 30.0
CHUNK_BYTES = 1 << 20
_ABSENT = ("NoSuchKey", "NoSuchObject", "NoSuchVersion")


class Body(Protocol):
    """An answer whose content is read piece by piece."""

    def stream(self, amt: int) -> Iterator[bytes]:
        """Pieces of at most `amt` bytes."""


def connect(endpoint: str, access_key: str, secret_key: str, *, secure: bool) -> Minio:
    """`endpoint` is host:port; the region is given so that no call is spent on asking for it."""
    return Minio(
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


@contextmanager
def opened(client: Minio, bucket: str, key: str) -> Iterator[Body]:
    """An object while it is read. Raises BlobMissing, ServerUnavailable."""
    with translated(key):
        answer = client.get_object(bucket_name=bucket, object_name=key)
        try:
            yield answer
        finally:
            answer.close()
            answer.release_conn()


@contextmanager
def translated(key: str) -> Iterator[None]:
    """Raises BlobMissing or ServerUnavailable for what the SDK raises."""
    try:
        yield
    except S3Error as error:
        if error.code in _ABSENT:
            raise BlobMissing(missing(key)) from error
        raise _unavailable(key, error) from error
    except (MinioException, HTTPError, ConnectionError, TimeoutError) as error:
        raise _unavailable(key, error) from error


@contextmanager
def session_translated(session: Session) -> Iterator[None]:
    """Raises SessionGone or ServerUnavailable for what the SDK raises."""
    with translated(session.key):
        try:
            yield
        except S3Error as error:
            if error.code == "NoSuchUpload":
                raise SessionGone(sessions.missing(session)) from error
            raise


def _unavailable(key: str, error: Exception) -> ServerUnavailable:
    return ServerUnavailable(
        "blobs_unavailable", f"{key}: the object store does not answer ({error}); it is asked again"
    )
