"""What only the fake database has: it can be taken away, and it lets others in between calls."""

import asyncio

import pytest

from chassis.documents.fake import FakeDatabase
from chassis.errors import ServerUnavailable, WriteConflict


async def test_a_database_that_does_not_answer_says_so_and_commits_nothing() -> None:
    database = FakeDatabase()

    async def lose_it_midway() -> None:
        async with database.transaction() as tx:
            await tx.insert("rows", {"_id": "a"})
            database.answering = False

    with pytest.raises(ServerUnavailable):
        await lose_it_midway()
    with pytest.raises(ServerUnavailable):
        await database.ping()
    with pytest.raises(ServerUnavailable):
        await database.get("rows", "a")
    database.answering = True
    assert await database.get("rows", "a") is None


async def test_a_plain_write_makes_an_open_transaction_run_again() -> None:
    database = FakeDatabase()
    await database.insert("rows", {"_id": "a", "n": 0})

    async def write_both() -> None:
        async with database.transaction() as tx:
            await tx.update("rows", "a", {"n": 1})
            await database.update("rows", "a", {"n": 2})

    with pytest.raises(WriteConflict):
        await write_both()
    assert await database.get("rows", "a") == {"_id": "a", "n": 2}


async def test_every_call_lets_others_run() -> None:
    database = FakeDatabase()
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)

    await database.get("rows", "a")

    assert ran.is_set()


async def test_an_operator_outside_the_port_is_refused() -> None:
    database = FakeDatabase()
    await database.insert("rows", {"_id": "a", "n": 0})

    with pytest.raises(ValueError, match=r"\$regex"):
        await database.find("rows", {"n": {"$regex": "x"}})
