"""What every document store must do, the fake one and the real one alike."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chassis.documents.fake import FakeDatabase
from chassis.documents.mongo import MongoDatabase, connect
from chassis.documents.ports import Database, Documents, DuplicateDocument, Index
from chassis.errors import WriteConflict
from tests.servers import LocalServers

ROWS = "rows"


@pytest.fixture(params=["fake", "mongo"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """An empty database."""
    if request.param == "fake":
        yield FakeDatabase()
        return
    servers: LocalServers = request.getfixturevalue("local_servers")
    client, name = connect(servers.mongo_uri), f"contract_{uuid.uuid4().hex}"
    yield MongoDatabase(client, name)
    await client.drop_database(name)
    await client.close()


async def test_what_was_stored_comes_back(database: Database) -> None:
    at = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
    document = {"_id": "a", "at": at, "nested": {"list": (1, 2.5, None)}, "name": "点.苹果", "blob": b"\0\1"}

    await database.insert(ROWS, document)

    assert await database.get(ROWS, "a") == {
        "_id": "a",
        "at": at.replace(microsecond=123000),
        "nested": {"list": [1, 2.5, None]},
        "name": "点.苹果",
        "blob": b"\0\1",
    }
    assert await database.get(ROWS, "b") is None
    assert await database.get("nowhere", "a") is None


async def test_what_came_back_is_a_copy(database: Database) -> None:
    document: dict[str, Any] = {"_id": "a", "list": [1]}
    await database.insert(ROWS, document)
    document["list"].append(2)
    found = await database.get(ROWS, "a")
    assert found is not None
    found["list"].append(3)

    assert await database.get(ROWS, "a") == {"_id": "a", "list": [1]}


async def test_an_id_is_inserted_once(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1})

    with pytest.raises(DuplicateDocument):
        await database.insert(ROWS, {"_id": "a", "n": 2})

    assert await database.get(ROWS, "a") == {"_id": "a", "n": 1}


async def test_put_inserts_and_replaces_whole_documents(database: Database) -> None:
    await database.put(ROWS, {"_id": "a", "n": 1, "gone": True})
    await database.put(ROWS, {"_id": "a", "n": 2})

    assert await database.get(ROWS, "a") == {"_id": "a", "n": 2}


async def test_update_compares_and_sets(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "status": "new", "lease": {"token": 1}})

    assert await database.update(ROWS, "a", {"status": "taken", "lease.token": 2}, expected={"status": "new"})
    assert not await database.update(ROWS, "a", {"status": "mine"}, expected={"status": "new"})
    assert not await database.update(ROWS, "absent", {"status": "mine"})
    assert await database.update(ROWS, "a", {"seen": True}, expected={"lease.token": 2})
    assert await database.get(ROWS, "a") == {"_id": "a", "status": "taken", "lease": {"token": 2}, "seen": True}


async def test_an_update_that_changes_nothing_still_counts(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1})

    assert await database.update(ROWS, "a", {"n": 1}, expected={"n": 1})


async def test_increment_makes_the_counter_and_tells_the_new_value(database: Database) -> None:
    assert await database.increment(ROWS, "a", "rev") == 1
    assert await database.increment(ROWS, "a", "rev", by=5) == 6
    assert await database.increment(ROWS, "a", "counts.seen") == 1
    assert await database.get(ROWS, "a") == {"_id": "a", "rev": 6, "counts": {"seen": 1}}


async def test_delete_says_whether_it_was_there(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a"})

    assert await database.delete(ROWS, "a")
    assert not await database.delete(ROWS, "a")
    assert await database.get(ROWS, "a") is None


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({}, {"a", "b", "c"}),
        ({"n": 2}, {"b"}),
        ({"n": {"$gte": 2, "$lt": 3}}, {"b"}),
        ({"n": {"$gt": 1}}, {"b", "c"}),
        ({"n": {"$lte": 1}}, {"a"}),
        ({"n": {"$in": [1, 3, 9]}}, {"a", "c"}),
        ({"_id": {"$in": ["a", "z"]}}, {"a"}),
        ({"sub.kind": "x", "n": {"$gt": 1}}, {"c"}),
        ({"sub.kind": None}, {"b"}),
        ({"at": {"$lt": NOON + timedelta(microseconds=1)}}, set()),
        ({"at": {"$lte": NOON}}, {"a"}),
        ({"tags": "red"}, {"a", "b"}),
        ({"n": {"$gt": "text"}}, set()),
    ],
)
async def test_find_returns_all_that_match(database: Database, where: dict[str, Any], ids: set[str]) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1, "sub": {"kind": "x"}, "at": NOON, "tags": ["red", "blue"]})
    await database.insert(ROWS, {"_id": "b", "n": 2, "at": NOON + timedelta(hours=1), "tags": ["red"]})
    await database.insert(ROWS, {"_id": "c", "n": 3, "sub": {"kind": "x"}})

    assert {found["_id"] for found in await database.find(ROWS, where)} == ids


async def test_find_stops_at_its_limit(database: Database) -> None:
    for number in range(5):
        await database.insert(ROWS, {"_id": str(number)})

    assert len(await database.find(ROWS, {}, limit=3)) == 3
    assert len(await database.find(ROWS, {})) == 5


async def test_a_unique_index_holds_and_making_it_again_is_harmless(database: Database) -> None:
    indexes = [
        Index(ROWS, ("dataset", "version"), unique=True),
        Index(ROWS, ("status",)),
        Index("inbox", ("at",), expire_after_s=3600),
    ]
    await database.ensure_indexes(indexes)
    await database.ensure_indexes(indexes)
    await database.insert(ROWS, {"_id": "a", "dataset": "ds", "version": 1})
    await database.insert(ROWS, {"_id": "b", "dataset": "ds", "version": 2})

    with pytest.raises(DuplicateDocument):
        await database.insert(ROWS, {"_id": "c", "dataset": "ds", "version": 1})
    with pytest.raises(DuplicateDocument):
        await database.update(ROWS, "b", {"version": 1})
    with pytest.raises(DuplicateDocument):
        await database.put(ROWS, {"_id": "d", "dataset": "ds", "version": 2})

    assert len(await database.find(ROWS, {})) == 2


async def test_a_transaction_is_seen_from_its_commit_on(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1})

    async with database.transaction() as tx:
        await tx.update(ROWS, "a", {"n": 2})
        await tx.insert(ROWS, {"_id": "b"})
        assert await tx.get(ROWS, "a") == {"_id": "a", "n": 2}
        assert len(await tx.find(ROWS, {})) == 2
        assert await database.get(ROWS, "a") == {"_id": "a", "n": 1}
        assert await database.get(ROWS, "b") is None

    assert await database.get(ROWS, "a") == {"_id": "a", "n": 2}
    assert await database.get(ROWS, "b") == {"_id": "b"}


async def test_an_error_inside_takes_everything_back(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1})

    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.update(ROWS, "a", {"n": 2})
            await tx.increment(ROWS, "counter", "n")
            await tx.delete(ROWS, "a")
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert await database.find(ROWS, {}) == [{"_id": "a", "n": 1}]


async def test_a_transaction_does_not_see_what_was_committed_after_it_began(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 1})

    async with database.transaction() as tx:
        await tx.get(ROWS, "a")
        await database.update(ROWS, "a", {"n": 2})
        assert await tx.get(ROWS, "a") == {"_id": "a", "n": 1}


async def test_a_duplicate_ends_the_transaction_even_when_it_is_caught(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a"})

    async def catch_it() -> None:
        async with database.transaction() as tx:
            await tx.insert(ROWS, {"_id": "b"})
            with pytest.raises(DuplicateDocument):
                await tx.insert(ROWS, {"_id": "a"})
            with pytest.raises(DuplicateDocument):
                await tx.get(ROWS, "a")

    with pytest.raises(DuplicateDocument):
        await catch_it()
    assert await database.get(ROWS, "b") is None


_WRITES: dict[str, Callable[[Documents], Awaitable[object]]] = {
    "update": lambda tx: tx.update(ROWS, "a", {"n": 1}),
    "put": lambda tx: tx.put(ROWS, {"_id": "a", "n": 1}),
    "delete": lambda tx: tx.delete(ROWS, "a"),
    "increment": lambda tx: tx.increment(ROWS, "a", "n"),
    "insert": lambda tx: tx.insert(ROWS, {"_id": "new"}),
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
async def test_of_two_transactions_that_write_one_document_one_must_run_again(
    database: Database, write: Callable[[Documents], Awaitable[object]]
) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 0})

    async def run(ready: asyncio.Barrier) -> None:
        async with database.transaction() as tx:
            await tx.get(ROWS, "a")
            await ready.wait()
            await write(tx)

    barrier = asyncio.Barrier(2)
    results = await asyncio.gather(run(barrier), run(barrier), return_exceptions=True)

    assert [type(result) for result in results if result is not None] == [WriteConflict]


async def test_counters_raised_in_transactions_are_exact(database: Database) -> None:
    async def raise_counter() -> int:
        while True:
            try:
                async with database.transaction() as tx:
                    value = await tx.increment("aggregates", "run_1", "rev")
                    await tx.insert("outbox", {"_id": str(value)})
                    return value
            except WriteConflict:
                await asyncio.sleep(0)

    values = await asyncio.gather(*(raise_counter() for _ in range(12)))

    assert sorted(values) == list(range(1, 13))
    assert len(await database.find("outbox", {})) == 12


async def test_a_plain_write_that_meets_a_transaction_is_not_lost(database: Database) -> None:
    await database.insert(ROWS, {"_id": "a", "n": 0})

    async with database.transaction() as tx:
        await tx.insert(ROWS, {"_id": "b"})
        await database.update(ROWS, "a", {"plain": True})

    assert await database.get(ROWS, "a") == {"_id": "a", "n": 0, "plain": True}
    assert await database.get(ROWS, "b") is not None


async def test_ping_answers(database: Database) -> None:
    await database.ping()


async def test_collections_are_those_that_hold_something(database: Database) -> None:
    await database.insert("rows", {"_id": "a"})
    async with database.transaction() as tx:
        await tx.insert("others", {"_id": "a"})

    assert await database.collections() == ["others", "rows"]
