"""Effects exactly once: documents, inbox mark and outbox rows go together or not at all."""

import pytest

from chassis.errors import AlreadyHandled, PermanentError, WriteConflict
from chassis.unit_of_work import OUTBOX
from schemas.dataset import DatasetCreated, ImportAccepted
from schemas.requests import DatasetRequested
from tests.builders import build_deps, delivered, emitted


def a_request() -> DatasetRequested:
    return DatasetRequested(dataset_id="ds_1", name="tiles", task="image_classification")


def a_dataset(dataset_id: str = "ds_1") -> DatasetCreated:
    return DatasetCreated(dataset_id=dataset_id, name="tiles", task="image_classification", auto_train="off")


async def test_what_is_emitted_is_stored_with_the_documents() -> None:
    deps = build_deps("ingest")
    async with deps.unit_of_work() as tx:
        await tx.documents.insert("things", {"_id": "a"})
        tx.emit(a_dataset())
    assert await deps.database.get("things", "a")
    assert await emitted(deps) == [a_dataset()]


async def test_a_failure_leaves_nothing() -> None:
    deps = build_deps("ingest")
    cause = delivered(a_request())
    with pytest.raises(RuntimeError):
        async with deps.unit_of_work(cause=cause) as tx:
            await tx.documents.insert("things", {"_id": "a"})
            tx.emit(a_dataset())
            raise RuntimeError
    assert await deps.database.get("things", "a") is None
    assert await emitted(deps) == []
    async with deps.unit_of_work(cause=cause):
        pass  # the inbox did not keep the mark of the failed attempt


async def test_the_second_delivery_of_an_event_is_refused() -> None:
    deps = build_deps("ingest")
    cause = delivered(a_request(), event_id="evt_1")
    async with deps.unit_of_work(cause=cause) as tx:
        tx.emit(a_dataset())
    with pytest.raises(AlreadyHandled):
        async with deps.unit_of_work(cause=cause) as tx:
            tx.emit(a_dataset())
    assert len(await emitted(deps)) == 1


async def test_revisions_of_a_key_are_consecutive() -> None:
    deps = build_deps("ingest")
    for version in (1, 2):
        async with deps.unit_of_work() as tx:
            tx.emit(ImportAccepted(dataset_id="ds_1", import_id=f"imp_{version}", version=version))
    async with deps.unit_of_work() as tx:
        tx.emit(a_dataset("ds_2"))
    rows = await deps.database.find(OUTBOX, {})
    assert sorted((row["key"], row["rev"]) for row in rows) == [("ds_1", 1), ("ds_1", 2), ("ds_2", 1)]


async def test_two_transactions_that_emit_for_one_key_conflict() -> None:
    deps = build_deps("ingest")
    with pytest.raises(WriteConflict):
        async with deps.unit_of_work() as first:
            first.emit(a_dataset())
            async with deps.unit_of_work() as second:
                second.emit(a_dataset())
    assert len(await emitted(deps)) == 1


async def test_a_service_may_not_emit_what_another_one_writes() -> None:
    deps = build_deps("trainer")
    with pytest.raises(LookupError, match="trainer may not publish"):
        async with deps.unit_of_work() as tx:
            tx.emit(a_dataset())


async def test_an_event_too_large_for_the_bus_is_refused_where_it_is_emitted() -> None:
    deps = build_deps("ingest")
    huge = DatasetCreated(dataset_id="ds_1", name="x" * 70_000, task="image_classification", auto_train="off")
    with pytest.raises(PermanentError, match="event_too_large"):
        async with deps.unit_of_work() as tx:
            tx.emit(huge)
    assert await emitted(deps) == []
