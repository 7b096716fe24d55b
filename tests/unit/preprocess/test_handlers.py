"""A version closes once, with the same content, however its events arrive."""

import asyncio
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.deps import Deps
from chassis.failures import FailedEvent
from chassis.manifests import read_manifest, read_rejections
from chassis.records import Repository
from schemas.base import Event, Failure
from schemas.dataset import (
    DatasetVersionIngested,
    DatasetVersionReady,
    DatasetVersionRejected,
    ImportAccepted,
    ImportRejected,
    SamplesIngested,
    SamplesPreprocessed,
)
from services.preprocess.deps import PreprocessDeps
from services.preprocess.handlers import HANDLERS
from services.preprocess.records import Version
from services.preprocess.sweeping import sweep
from tests.builders import dispatcher, emitted, record_of
from tests.unit.preprocess.pictures import PROJECT, a_picture, fake_blobs, preprocess_deps, stored_chunk

CHUNKS = 3


def accepted(version: int = 1) -> ImportAccepted:
    return ImportAccepted(project_id=PROJECT, dataset_id="ds_1", import_id=f"imp_{version}", version=version)


def whole(chunk_count: int = CHUNKS, version: int = 1) -> DatasetVersionIngested:
    return DatasetVersionIngested(
        project_id=PROJECT,
        dataset_id="ds_1",
        version=version,
        import_id=f"imp_{version}",
        task="image_classification",
        auto_train="fast",
        chunk_count=chunk_count,
        sample_count=chunk_count,
        rejected_count=0,
    )


def chunks(deps: PreprocessDeps, version: int = 1, count: int = CHUNKS) -> list[SamplesIngested]:
    """Each with two classes of five pictures; the pictures of a version are its own."""
    numbers = itertools.count(1000 * version)
    return [
        stored_chunk(
            deps.blobs,
            {
                f"{label}/{(number := next(numbers))}.png": a_picture(number)
                for label in ("cat", "dog")
                for _ in range(5)
            },
            chunk,
            version,
        )
        for chunk in range(count)
    ]


async def deliver(deps: PreprocessDeps, events: Sequence[Event]) -> None:
    """Each under an id of its own, the same event always under the same."""
    by_dispatcher = dispatcher(deps, HANDLERS)
    for event in events:
        await by_dispatcher.deliver(
            record_of(event, event_id=f"{event.TYPE}/{event.key}/{getattr(event, 'version', 0)}")
        )


async def of_type(deps: Deps, *kinds: type[Event]) -> list[Any]:
    return [event for event in await emitted(deps) if isinstance(event, kinds)]


async def version(deps: PreprocessDeps, number: int = 1) -> Version:
    found = await Repository(deps.database, Version).get(f"ds_1/{number}")
    assert found is not None
    return found


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, CHUNKS + 1), max_size=6), st.permutations(range(CHUNKS + 2)))
def test_a_version_closes_once_however_its_events_are_ordered_and_doubled(extra: list[int], order: list[int]) -> None:
    expected = _manifest_in_order()

    async def scenario() -> None:
        deps = preprocess_deps()
        events = [accepted(), whole(), *chunks(deps)]
        await deliver(deps, [events[place] for place in (*extra, *order, *extra)])
        (ready,) = await of_type(deps, DatasetVersionReady, DatasetVersionRejected)
        assert (ready.sample_count, ready.class_count, ready.project_id) == (10 * CHUNKS, 2, PROJECT)
        assert sorted(event.chunk for event in await of_type(deps, SamplesPreprocessed)) == list(range(CHUNKS))
        manifest = read_manifest(deps.blobs.get(ready.manifest))
        assert [sample.name for sample in manifest.samples] == sorted(sample.name for sample in manifest.samples)
        assert ready.manifest.sha256 == expected

    asyncio.run(scenario())


@functools.cache
def _manifest_in_order() -> str:
    """The hash of what the same events give, each once, in the order of emission."""

    async def scenario() -> str:
        deps = preprocess_deps()
        await deliver(deps, [accepted(), *chunks(deps), whole()])
        (ready,) = await of_type(deps, DatasetVersionReady)
        return str(ready.manifest.sha256)

    return asyncio.run(scenario())


async def test_events_delivered_at_the_same_time_close_it_once() -> None:
    deps = preprocess_deps()
    await deliver(deps, [accepted()])
    await asyncio.gather(*(deliver(deps, [event]) for event in [whole(), *chunks(deps)]))
    await sweep(deps)
    assert len(await of_type(deps, DatasetVersionReady)) == 1


async def test_the_record_holds_what_the_console_shows() -> None:
    deps = preprocess_deps()
    bad = stored_chunk(deps.blobs, {"cat/bad.png": b"", "dog/again.png": a_picture(1005)}, chunk=1)
    await deliver(deps, [accepted(), *chunks(deps, count=1), bad, whole(2)])
    record = await version(deps)
    assert (record.status, record.sample_count, record.rejected_count) == ("ready", 10, 2)
    assert [(c.name, c.count) for c in record.classes] == [("cat", 5), ("dog", 5)]
    assert record.rejections is not None
    refused = read_rejections(deps.blobs.get(record.rejections))
    assert sorted((r.name, r.code) for r in refused) == [("cat/bad.png", "empty_file"), ("dog/again.png", "duplicate")]
    assert "duplicates" in [finding.code for finding in record.findings]


async def test_a_version_that_the_check_refuses_is_rejected_with_the_reason() -> None:
    deps = preprocess_deps()
    one_class = stored_chunk(deps.blobs, {f"cat/{number}.png": a_picture(number) for number in range(5)})
    await deliver(deps, [accepted(), one_class, whole(1)])
    (rejected,) = await of_type(deps, DatasetVersionReady, DatasetVersionRejected)
    assert isinstance(rejected, DatasetVersionRejected)
    assert (await version(deps)).failure == rejected.failure


async def test_a_later_version_waits_for_the_one_before_and_builds_upon_it() -> None:
    deps = preprocess_deps()
    await deliver(deps, [accepted(1), accepted(2), *chunks(deps, 2), whole(version=2)])
    assert await of_type(deps, DatasetVersionReady) == []
    await deliver(deps, [*chunks(deps, 1), whole(version=1)])
    ready = await of_type(deps, DatasetVersionReady)
    assert [(event.version, event.sample_count) for event in ready] == [(1, 30), (2, 60)]


async def test_a_rejected_import_rejects_its_version_and_frees_the_next() -> None:
    deps = preprocess_deps()
    failure = Failure(code="not_a_zip", sentence="a.zip: no zip.")
    gone = ImportRejected(project_id=PROJECT, dataset_id="ds_1", import_id="imp_1", version=1, failure=failure)
    await deliver(deps, [accepted(1), accepted(2), *chunks(deps, 2), whole(version=2), gone])
    (rejected,) = await of_type(deps, DatasetVersionRejected)
    assert rejected.failure == failure
    assert [event.version for event in await of_type(deps, DatasetVersionReady)] == [2]


async def test_a_chunk_that_is_given_up_on_rejects_the_version() -> None:
    deps = preprocess_deps()
    events = [accepted(), *chunks(deps), whole()]
    missing = events[1]
    assert isinstance(missing, SamplesIngested)
    await deliver(deps, [event for event in events if event is not missing])
    failed = dispatcher(deps, HANDLERS)
    fake_blobs(deps).delete(missing.samples.key)
    await failed.deliver(record_of(missing))
    (row,) = await Repository(deps.database, FailedEvent).find({})
    await Repository(deps.database, FailedEvent).save(row.changed(status="dead"))
    await sweep(deps)
    (rejected,) = await of_type(deps, DatasetVersionRejected)
    assert rejected.failure.code == "chunk_failed"


@pytest.mark.parametrize("lost", ["chunk", "count", "everything"])
async def test_the_sweep_fetches_what_never_arrived(lost: str) -> None:
    deps = preprocess_deps()
    events: list[Event] = [accepted(), *chunks(deps), whole()]
    await _written_down_by_ingest(deps, events)
    arriving = {"chunk": [events[0], *events[2:]], "count": events[:-1], "everything": []}[lost]
    await deliver(deps, arriving)
    assert await of_type(deps, DatasetVersionReady) == []
    await sweep(deps)
    assert await of_type(deps, DatasetVersionReady) == [], "nothing is fetched while events may still be on their way"
    deps.clock.advance(60)  # type: ignore[attr-defined]  # the clock of these tests is the fake one
    await sweep(deps)
    await sweep(deps)
    (ready,) = await of_type(deps, DatasetVersionReady)
    assert ready.sample_count == 10 * CHUNKS


async def _written_down_by_ingest(deps: PreprocessDeps, events: Sequence[Event]) -> None:
    """The documents of ingest that belong to the events."""
    ingest: Any = deps.ingest
    shared = {"dataset_id": "ds_1", "project_id": PROJECT}
    await ingest.insert("datasets", {"_id": "ds_1", **shared, "task": "image_classification", "auto_train": "fast"})
    for event in events:
        if isinstance(event, SamplesIngested):
            said = event.model_dump(mode="json", include={"chunk", "samples", "sample_count"})
            await ingest.insert(
                "chunks", {"_id": event.key, "dataset_version": "ds_1/1", "project_id": PROJECT, **said}
            )
        if isinstance(event, DatasetVersionIngested):
            counts = event.model_dump(
                mode="json", include={"chunk_count", "sample_count", "rejected_count", "rejections"}
            )
            ended = {"status": "ingested", "version": 1, "ended_at": "2026-01-01T00:00:00Z"}
            await ingest.insert("imports", {"_id": "imp_1", **shared, **ended, **counts})
