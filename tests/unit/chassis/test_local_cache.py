"""Blobs on the local disk: whole, verified, fetched once, and bounded."""

import os
import time
from pathlib import Path

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.local_cache import IN_USE_S, LocalBlobCache
from chassis.blobs.ports import BlobDamaged, BlobMissing
from schemas.base import BlobRef


class CountingStore(FakeBlobStore):
    """Knows which blobs were fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def fetch(self, ref: BlobRef, path: Path) -> None:
        """See BlobStore."""
        self.fetched.append(ref.sha256)
        super().fetch(ref, path)


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


def some_blobs(store: FakeBlobStore, count: int) -> list[BlobRef]:
    return [store.put("prj_1", f"blob {n}".encode() * 10, "text/plain") for n in range(count)]


def ignore(fraction: float) -> None:
    """Progress that nobody asks for."""


def test_every_blob_is_fetched_once_and_told_of(store: CountingStore, tmp_path: Path) -> None:
    refs = some_blobs(store, 30)
    told: list[float] = []
    paths = LocalBlobCache(store, tmp_path).fetch_all([*refs, refs[0]], told.append)
    assert {sha: path.read_bytes() for sha, path in paths.items()} == {ref.sha256: store.get(ref) for ref in refs}
    assert told == sorted(told)
    assert told[-1] == 1.0
    LocalBlobCache(store, tmp_path).fetch_all(refs, ignore)
    assert sorted(store.fetched) == sorted(ref.sha256 for ref in refs)


@pytest.mark.parametrize("content", [b"", b"shorter", b"x" * 60])
def test_a_damaged_file_is_fetched_again(store: CountingStore, tmp_path: Path, content: bytes) -> None:
    (ref,) = some_blobs(store, 1)
    cache = LocalBlobCache(store, tmp_path)
    cache.fetch_all([ref], ignore)
    cache.path_of(ref.sha256).write_bytes(content)
    cache.fetch_all([ref], ignore)
    assert cache.path_of(ref.sha256).read_bytes() == store.get(ref)


def test_a_missing_blob_and_a_damaged_one_are_named(store: CountingStore, tmp_path: Path) -> None:
    missing, damaged, good = some_blobs(store, 3)
    store.delete(missing.key)
    store.put_named(damaged.key, b"noise", "text/plain")
    cache = LocalBlobCache(store, tmp_path)
    with pytest.raises(BlobMissing, match=missing.sha256):
        cache.fetch_all([good, missing], ignore)
    with pytest.raises(BlobDamaged, match=damaged.sha256):
        cache.fetch_all([damaged], ignore)
    assert not cache.path_of(damaged.sha256).exists()


def test_the_longest_unused_files_go_first_and_those_in_use_stay(store: CountingStore, tmp_path: Path) -> None:
    old, older, used = some_blobs(store, 3)
    LocalBlobCache(store, tmp_path).fetch_all([old, older, used], ignore)
    cache = LocalBlobCache(store, tmp_path, max_bytes=old.size)
    for ref, hours in ((old, 10), (older, 20)):
        moment = time.time() - IN_USE_S - hours * 3600
        os.utime(cache.path_of(ref.sha256), (moment, moment))
    assert cache.evict() == older.size + old.size
    assert [cache.path_of(ref.sha256).exists() for ref in (old, older, used)] == [False, False, True]


def test_nothing_is_evicted_below_the_limit(store: CountingStore, tmp_path: Path) -> None:
    refs = some_blobs(store, 2)
    cache = LocalBlobCache(store, tmp_path)
    cache.fetch_all(refs, ignore)
    assert cache.evict() == 0
