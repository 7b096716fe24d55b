"""Data sets and imports over fakes: numbered without gaps, announced once, whatever arrives twice or dies half-way."""

import threading
from pathlib import Path
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.deps import Deps
from chassis.errors import AlreadyHandled, ServerUnavailable
from chassis.failures import FailedEvent
from chassis.jobs import Job, Message
from chassis.records import Repository
from schemas.base import BlobRef, Event, Failure
from schemas.dataset import DatasetCreated, DatasetVersionIngested, ImportAccepted, ImportRejected, SamplesIngested
from schemas.requests import DatasetRequested, ImportRequested
from services.ingest.archives import ArchiveLimits
from services.ingest.handlers import HANDLERS, JOB_KINDS, accept_import, create_dataset
from services.ingest.import_job import ArchiveImport
from services.ingest.records import Dataset, Import
from tests.builders import a_blob, build_deps, delivered, dispatcher, emitted, record_of
from tests.unit.ingest.archives import Entry, zipped

KIND = JOB_KINDS[0]


def a_dataset(task: str = "image_classification") -> DatasetRequested:
    return delivered(DatasetRequested(dataset_id="ds_1", name="pets", task=task, project_id="prj_1"))


def an_import(import_id: str = "imp_1", archive: BlobRef | None = None) -> ImportRequested:
    return delivered(
        ImportRequested(
            dataset_id="ds_1", import_id=import_id, archive=archive or a_blob(), file_name="a.zip", project_id="prj_1"
        )
    )


async def of_type(deps: Deps, kind: type[Event]) -> list[Any]:
    return [event for event in await emitted(deps) if isinstance(event, kind)]


@pytest.mark.parametrize("deliveries", [1, 2])
async def test_a_data_set_is_created_once(deliveries: int) -> None:
    deps = build_deps("ingest")
    for _ in range(deliveries):
        await create_dataset(a_dataset(), deps)
    assert [(event.dataset_id, event.project_id) for event in await of_type(deps, DatasetCreated)] == [
        ("ds_1", "prj_1")
    ]


async def test_the_same_event_twice_is_said_to_be_handled() -> None:
    deps, event = build_deps("ingest"), a_dataset()
    await create_dataset(event, deps)
    with pytest.raises(AlreadyHandled):
        await create_dataset(event, deps)


async def test_an_unknown_task_is_a_dead_letter_that_names_the_known_ones() -> None:
    deps = build_deps("ingest")
    await dispatcher(deps, HANDLERS).deliver(record_of(a_dataset(task="mind_reading")))
    (row,) = await Repository(deps.database, FailedEvent).find({})
    assert (row.status, row.code) == ("dead", "task_unknown")
    assert "image_classification" in row.sentence


async def test_imports_are_numbered_in_order_and_each_gets_a_job() -> None:
    deps = build_deps("ingest")
    await create_dataset(a_dataset(), deps)
    for import_id in ("imp_1", "imp_2", "imp_1"):
        await accept_import(an_import(import_id), deps)
    accepted = await of_type(deps, ImportAccepted)
    assert [(event.import_id, event.version) for event in accepted] == [("imp_1", 1), ("imp_2", 2)]
    assert sorted(job.key for job in await Repository(deps.database, Job).find({})) == ["imp_1", "imp_2"]
    dataset = await Repository(deps.database, Dataset).get("ds_1")
    assert dataset is not None
    assert dataset.next_version == 3


async def test_an_import_into_no_data_set_is_a_dead_letter() -> None:
    deps = build_deps("ingest")
    await dispatcher(deps, HANDLERS).deliver(record_of(an_import()))
    (row,) = await Repository(deps.database, FailedEvent).find({})
    assert (row.status, row.code) == ("dead", "dataset_unknown")
    assert await of_type(deps, ImportAccepted) == []


class Killed(Exception):
    """The import process dies here."""


class FlakyBlobs(FakeBlobStore):
    """A blob store that does not answer its first calls."""

    def __init__(self, away_for: int) -> None:
        super().__init__()
        self.away_for = away_for
        self._counting = threading.Lock()

    def ping(self) -> None:
        with self._counting:
            if self.away_for:
                self.away_for -= 1
                raise ServerUnavailable("blobs_unavailable", "away for a moment")


def fake_blobs(deps: Deps) -> FakeBlobStore:
    assert isinstance(deps.blobs, FakeBlobStore)
    return deps.blobs


class ImportHarness:
    """An accepted import, and a worker that runs its process as often as it is told to."""

    def __init__(self, deps: Deps, job: Job, scratch: Path) -> None:
        self.deps = deps
        self.job = job
        self.archive = ArchiveImport(deps.blobs, ArchiveLimits(), scratch, chunk_samples=2)

    @classmethod
    async def started(cls, archive: bytes, scratch: Path) -> "ImportHarness":
        deps = build_deps("ingest")
        await create_dataset(a_dataset(), deps)
        await accept_import(an_import(archive=deps.blobs.put("prj_1", archive, "application/zip")), deps)
        (job,) = await Repository(deps.database, Job).find({})
        return cls(deps, job, scratch)

    async def attempt(self, dies_after: int | None = None) -> None:
        """Run the process; with `dies_after` it ends without a word after so many chunks."""
        said: list[Message] = []

        def say(message: Message) -> None:
            if len(said) == dies_after:
                raise Killed
            said.append(message)

        try:
            result = self.archive.run(self.job.args, say)
        except Killed:
            result = None
        for message in said:
            async with self.deps.unit_of_work() as tx:
                await KIND.on_message(self.job, message, tx, self.deps)
        if result is not None:
            async with self.deps.unit_of_work() as tx:
                await KIND.on_result(self.job, result, tx, self.deps)

    async def record(self) -> Import:
        found = await Repository(self.deps.database, Import).get("imp_1")
        assert found is not None
        return found


@pytest.mark.parametrize("dies_after", [[], [0], [1], [2], [1, 2], [3, 0]])
async def test_an_import_that_dies_half_way_announces_each_chunk_once(dies_after: list[int], tmp_path: Path) -> None:
    harness = await ImportHarness.started(zipped(*(f"cat/{number}.jpg" for number in range(7)), "readme.txt"), tmp_path)
    for limit in dies_after:
        await harness.attempt(dies_after=limit)
    await harness.attempt()
    chunks = await of_type(harness.deps, SamplesIngested)
    assert [(event.chunk, event.sample_count) for event in chunks] == [(0, 2), (1, 2), (2, 2), (3, 1)]
    (whole,) = await of_type(harness.deps, DatasetVersionIngested)
    assert (whole.chunk_count, whole.sample_count, whole.rejected_count) == (4, 7, 1)
    assert {event.project_id for event in await emitted(harness.deps)} == {"prj_1"}
    assert (await harness.record()).status == "ingested"


class Crowded(FakeBlobStore):
    """Keeps each sample until `at_once` are there, or the import waits for one of them; `most` is how many it had."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self._barrier = threading.Barrier(at_once)
        self._active = 0
        self._counting = threading.Lock()
        self.most = 0

    def put(self, project_id: str, content: bytes, media_type: str) -> BlobRef:
        with self._counting:
            self._active += 1
            self.most = max(self.most, self._active)
        if media_type == "application/octet-stream":
            self._barrier.wait(timeout=10)
        with self._counting:
            self._active -= 1
        return super().put(project_id, content, media_type)


@pytest.mark.parametrize(("room", "at_once"), [(10**6, 12), (2500, 3)])
async def test_large_samples_are_fewer_at_a_time(room: int, at_once: int, tmp_path: Path) -> None:
    content = zipped(*(Entry(f"cat/{number}.jpg", bytes([number]) * 1000) for number in range(2 * 12)))
    harness = await ImportHarness.started(content, tmp_path)
    crowded = Crowded(at_once)
    crowded.objects = fake_blobs(harness.deps).objects
    harness.archive = ArchiveImport(crowded, ArchiveLimits(), tmp_path, under_way_bytes=room)
    await harness.attempt()
    assert crowded.most == at_once


async def test_a_store_that_is_away_for_a_moment_costs_no_attempt(tmp_path: Path) -> None:
    harness = await ImportHarness.started(zipped("cat/1.jpg", "cat/2.jpg", "cat/3.jpg"), tmp_path)
    flaky = FlakyBlobs(away_for=3)
    flaky.objects = fake_blobs(harness.deps).objects
    harness.archive = ArchiveImport(flaky, ArchiveLimits(), tmp_path, chunk_samples=2)
    await harness.attempt()
    assert flaky.away_for == 0
    assert [event.sample_count for event in await of_type(harness.deps, SamplesIngested)] == [2, 1]


async def test_a_store_that_stays_away_ends_the_process_without_a_verdict(tmp_path: Path) -> None:
    harness = await ImportHarness.started(zipped("cat/1.jpg"), tmp_path)
    fake_blobs(harness.deps).answering = False
    harness.archive = ArchiveImport(harness.deps.blobs, ArchiveLimits(), tmp_path, patience_s=0.0)
    with pytest.raises(ServerUnavailable):
        await harness.attempt()
    assert (await harness.record()).status == "accepted"


async def test_an_archive_without_anything_usable_is_rejected_with_its_list(tmp_path: Path) -> None:
    harness = await ImportHarness.started(zipped("1.jpg", "2.txt"), tmp_path)
    await harness.attempt()
    (rejected,) = await of_type(harness.deps, ImportRejected)
    assert (rejected.version, rejected.failure.code) == (1, "nothing_usable")
    record = await harness.record()
    assert (record.status, record.rejected_count) == ("rejected", 2)
    assert record.rejections is not None
    assert await of_type(harness.deps, DatasetVersionIngested) == []


async def test_a_failed_job_rejects_the_import(tmp_path: Path) -> None:
    harness = await ImportHarness.started(b"no zip", tmp_path)
    failure = Failure(code="not_a_zip", sentence="a.zip: no zip.")
    async with harness.deps.unit_of_work() as tx:
        await KIND.on_failure(harness.job, failure, tx, harness.deps)
    (rejected,) = await of_type(harness.deps, ImportRejected)
    assert rejected.failure == failure
    assert (await harness.record()).ended_at is not None
