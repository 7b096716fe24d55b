"""Blobs that nothing needs are removed after the grace period; nothing that something needs ever is."""

from datetime import timedelta

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.fake_sessions import FakeUploadSessions
from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.errors import PermanentError
from chassis.jobs import Job
from chassis.records import Repository
from schemas.base import BlobRef, Failure
from services.ingest.collecting import OWNER_KEY, BlobCollector, refuse_bucket_of_another
from services.ingest.collection import (
    JOB_ID,
    JOB_KIND,
    LATEST,
    BlobCollection,
    ask_for_collection,
)
from services.ingest.references import References
from tests.builders import build_deps

GRACE = timedelta(hours=24)
HOUR = timedelta(hours=1)


class Bucket:
    """A store, its sessions and its collector, on one clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.blobs = FakeBlobStore(self.clock)
        self.sessions = FakeUploadSessions(self.blobs, self.clock)
        self.collector = BlobCollector(self.blobs, self.sessions, self.clock, GRACE)
        self.needed = References()

    def put(self, content: bytes) -> BlobRef:
        return self.blobs.put("prj_1", content, "text/plain")

    def pass_time(self, time: timedelta) -> None:
        self.clock.advance(time.total_seconds())


def test_an_orphan_goes_after_the_grace_period() -> None:
    bucket = Bucket()
    kept, orphan = bucket.put(b"kept"), bucket.put(b"orphan")
    bucket.needed.add(kept.key)
    bucket.pass_time(GRACE)
    assert bucket.collector.collect(bucket.needed) == {"orphans": 0, "orphan_bytes": 0, "removed": 0, "aborted": 0}
    bucket.pass_time(HOUR)
    assert [entry.key for entry in bucket.collector.look(bucket.needed)] == [orphan.key]
    assert len(bucket.blobs.objects) == 2
    assert bucket.collector.collect(bucket.needed) == {"orphans": 1, "orphan_bytes": 6, "removed": 1, "aborted": 0}
    assert list(bucket.blobs.objects) == [kept.key]


def test_the_same_content_sent_again_is_young_again() -> None:
    bucket = Bucket()
    ref = bucket.put(b"sent twice")
    bucket.pass_time(GRACE)
    bucket.put(b"sent twice")
    bucket.pass_time(HOUR)
    bucket.collector.collect(bucket.needed)
    assert list(bucket.blobs.objects) == [ref.key]


def test_an_upload_that_comes_while_it_collects_is_not_removed_under_its_feet() -> None:
    bucket = Bucket()
    ref = bucket.put(b"sent again")
    bucket.pass_time(GRACE + HOUR)
    listed = list(bucket.collector.look(bucket.needed))
    bucket.put(b"sent again")
    assert [bucket.collector.remove(entry) for entry in listed] == [False]
    assert list(bucket.blobs.objects) == [ref.key]


def test_what_another_removed_meanwhile_is_no_fault() -> None:
    bucket = Bucket()
    ref = bucket.put(b"gone")
    entry = bucket.blobs.entry(ref.key)
    bucket.blobs.delete(ref.key)
    assert bucket.collector.remove(entry) is False


def test_what_lies_elsewhere_is_not_its_business() -> None:
    bucket = Bucket()
    bucket.blobs.put_named("jobs/run_1/checkpoint/1", b"checkpoint", "text/plain")
    bucket.pass_time(GRACE + HOUR)
    bucket.collector.collect(bucket.needed)
    assert list(bucket.blobs.objects) == ["jobs/run_1/checkpoint/1"]


def test_sessions_that_nobody_knows_are_given_up_after_the_grace_period() -> None:
    bucket = Bucket()
    known = bucket.sessions.open("projects/prj_1/uploads/upl_1", "x/y")
    bucket.sessions.open("projects/prj_1/uploads/upl_2", "x/y")
    bucket.needed.note({"key": known.key, "session_id": known.id})
    bucket.pass_time(GRACE + HOUR)
    young = bucket.sessions.open("projects/prj_1/sha256/ab/cd/abcd", "x/y")
    assert bucket.collector.collect(bucket.needed)["aborted"] == 1
    assert {one.session for one in bucket.sessions.opened("")} == {known, young}


def test_a_bucket_of_another_database_is_left_alone() -> None:
    blobs = FakeBlobStore()
    refuse_bucket_of_another(blobs, "db_1")
    refuse_bucket_of_another(blobs, "db_1")
    with pytest.raises(PermanentError, match="belongs to database db_1"):
        refuse_bucket_of_another(blobs, "db_2")
    blobs.delete(OWNER_KEY)
    refuse_bucket_of_another(blobs, "db_2")


async def end_job(deps: Deps, result: dict[str, int] | Failure) -> None:
    """What the worker does when the process has ended."""
    [job] = await Repository(deps.database, Job).find({"status": "queued"})
    async with deps.unit_of_work() as tx:
        if isinstance(result, Failure):
            await JOB_KIND.on_failure(job, result, tx, deps)
        else:
            await JOB_KIND.on_result(job, result, tx, deps)
        await tx.documents.update(Job.COLLECTION, job.id, {"status": "done", "fence": job.fence + 1})


async def test_it_is_done_once_an_interval_and_written_down() -> None:
    clock = FakeClock()
    deps = build_deps("ingest", clock=clock)
    assert await ask_for_collection(deps, HOUR) is False
    clock.advance(3600)
    assert [await ask_for_collection(deps, HOUR) for _ in range(2)] == [True, False]
    await end_job(deps, {"orphans": 3, "orphan_bytes": 30, "removed": 2, "aborted": 1})
    assert await ask_for_collection(deps, HOUR) is False
    latest = await Repository(deps.database, BlobCollection).get(LATEST)
    assert latest == BlobCollection(id=LATEST, looked_at=clock.now(), orphans=3, orphan_bytes=30, removed=2, aborted=1)
    clock.advance(3600)
    assert await ask_for_collection(deps, HOUR) is True
    [job] = await Repository(deps.database, Job).find({})
    assert (job.id, job.fence, job.status, job.attempts) == (JOB_ID, 1, "queued", 0)


async def test_a_failure_is_written_down_beside_what_was_known() -> None:
    deps = build_deps("ingest")
    failure = Failure(code="manifest_lost", sentence="A list is lost; bring it back.")
    await ask_for_collection(deps, timedelta(0))
    await end_job(deps, {"orphans": 3, "orphan_bytes": 30, "removed": 2, "aborted": 1})
    await ask_for_collection(deps, timedelta(0))
    await end_job(deps, failure)
    latest = await Repository(deps.database, BlobCollection).get(LATEST)
    assert latest is not None
    assert (latest.orphans, latest.removed, latest.failure) == (3, 0, failure)


async def test_the_database_keeps_its_name() -> None:
    deps = build_deps("ingest")
    names = set()
    for _ in range(2):
        await ask_for_collection(deps, timedelta(0))
        [job] = await Repository(deps.database, Job).find({})
        names.add(job.args["database_id"])
        await end_job(deps, {"orphans": 0, "orphan_bytes": 0, "removed": 0, "aborted": 0})
    assert len(names) == 1
