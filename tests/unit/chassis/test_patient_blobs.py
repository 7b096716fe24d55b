"""A blob store that waits for its server."""

from pathlib import Path

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.patient import PatientBlobStore
from chassis.blobs.ports import BlobMissing
from chassis.errors import ServerUnavailable


class AwayAtFirst(FakeBlobStore):
    """Answers from the nth question on."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.refusals = refusals

    def ping(self) -> None:
        """Every operation of the fake asks this first."""
        if self.refusals > 0:
            self.refusals -= 1
            raise ServerUnavailable("blobs_unavailable", "the server is away")


def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    store = AwayAtFirst(refusals=0)
    patient = PatientBlobStore(store)
    store.refusals = 2
    ref = patient.put("prj_1", b"content", "text/plain")
    store.refusals = 1
    assert patient.get(ref) == b"content"
    store.refusals = 1
    patient.fetch(ref, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"content"
    store.refusals = 1
    assert list(patient.keys("projects/")) == [ref.key]


def test_patience_ends() -> None:
    with pytest.raises(ServerUnavailable):
        PatientBlobStore(AwayAtFirst(refusals=1_000), patience_s=0).put("prj_1", b"content", "text/plain")


def test_an_answer_is_not_waited_for() -> None:
    with pytest.raises(BlobMissing):
        PatientBlobStore(FakeBlobStore()).get_named("nothing")
