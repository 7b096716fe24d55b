"""What every blob store must do, the fake one and the real one alike."""

import hashlib
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore, content_key
from chassis.blobs.s3 import S3BlobStore
from tests.servers import LocalServers

PROJECT = "prj_1"


@pytest.fixture(params=["fake", "s3"])
def blobs(request: pytest.FixtureRequest) -> BlobStore:
    """An empty store."""
    if request.param == "fake":
        return FakeBlobStore()
    servers: LocalServers = request.getfixturevalue("local_servers")
    store = S3BlobStore(
        servers.s3_endpoint, servers.s3_access_key, servers.s3_secret_key, f"contract-{uuid.uuid4().hex}"
    )
    store.ensure_bucket()
    store.ensure_bucket()
    return store


def test_a_blob_lies_under_its_hash_and_comes_back(blobs: BlobStore) -> None:
    content = b"an apple"
    sha256 = hashlib.sha256(content).hexdigest()

    ref = blobs.put(PROJECT, content, "image/png")

    assert (ref.key, ref.size, ref.sha256, ref.media_type) == (content_key(PROJECT, sha256), 8, sha256, "image/png")
    assert blobs.get(ref) == content


def test_the_same_content_again_is_the_same_blob(blobs: BlobStore) -> None:
    assert blobs.put(PROJECT, b"x", "text/plain") == blobs.put(PROJECT, b"x", "text/plain")
    assert len(list(blobs.keys(f"projects/{PROJECT}/"))) == 1


def test_an_empty_blob_is_a_blob(blobs: BlobStore) -> None:
    assert blobs.get(blobs.put(PROJECT, b"", "text/plain")) == b""


def test_a_file_of_several_parts_goes_there_and_back(blobs: BlobStore, tmp_path: Path) -> None:
    source = tmp_path / "archive.zip"
    source.write_bytes(bytes(range(256)) * (17 << 12))  # 17 MiB: more than one part of an upload

    ref = blobs.put_file(PROJECT, source, "application/zip")
    blobs.fetch(ref, tmp_path / "copy.zip")

    assert ref.size == 17 << 20
    assert (tmp_path / "copy.zip").read_bytes() == source.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"archive.zip", "copy.zip"}


def test_a_missing_blob_is_told_and_leaves_no_file(blobs: BlobStore, tmp_path: Path) -> None:
    ref = blobs.put(PROJECT, b"x", "text/plain")
    blobs.delete(ref.key)
    blobs.delete(ref.key)

    with pytest.raises(BlobMissing):
        blobs.get(ref)
    with pytest.raises(BlobMissing):
        blobs.fetch(ref, tmp_path / "file")
    with pytest.raises(BlobMissing):
        blobs.get_named("nothing/here")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"xx", b"y"], ids=["size", "content"])
def test_a_damaged_blob_is_told_and_leaves_no_file(blobs: BlobStore, tmp_path: Path, damage: bytes) -> None:
    ref = blobs.put(PROJECT, b"x", "text/plain")
    blobs.put_named(ref.key, damage, "text/plain")

    with pytest.raises(BlobDamaged, match=ref.key):
        blobs.get(ref)
    with pytest.raises(BlobDamaged):
        blobs.fetch(ref, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_named_object_is_replaced(blobs: BlobStore) -> None:
    blobs.put_named("checkpoints/run_1", b"one", "application/octet-stream")
    blobs.put_named("checkpoints/run_1", b"two", "application/octet-stream")

    assert blobs.get_named("checkpoints/run_1") == b"two"


def test_keys_are_those_with_the_prefix(blobs: BlobStore) -> None:
    for key in ("thumb/64/a", "thumb/64/b c ü", "thumb/640/c", "other"):
        blobs.put_named(key, b"x", "image/png")

    assert sorted(blobs.keys("thumb/64/")) == ["thumb/64/a", "thumb/64/b c ü"]
    assert list(blobs.keys("nothing")) == []


def test_an_entry_says_size_and_when_it_was_last_written_content_changed_or_not(blobs: BlobStore) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)  # servers cut times to seconds
    ref = blobs.put(PROJECT, b"an apple", "text/plain")
    first = blobs.entry(ref.key)
    assert (first.key, first.size) == (ref.key, 8)
    assert before <= first.modified_at <= datetime.now(UTC) + timedelta(seconds=2)
    assert list(blobs.entries("projects/")) == [first]
    deadline = time.monotonic() + 10
    while blobs.entry(ref.key).modified_at == first.modified_at:
        assert time.monotonic() < deadline, "writing the same content again does not refresh its time"
        blobs.put(PROJECT, b"an apple", "text/plain")
    blobs.delete(ref.key)
    with pytest.raises(BlobMissing):
        blobs.entry(ref.key)


def test_ping_answers(blobs: BlobStore) -> None:
    blobs.ping()
