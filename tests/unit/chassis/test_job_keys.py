"""What is over gets no jobs, also when its end and its next job meet."""

import asyncio
from collections.abc import Awaitable, Callable

from chassis.deps import Deps
from chassis.errors import WriteConflict
from chassis.job_keys import close_key, enqueue_if_open
from chassis.jobs import Job
from chassis.records import Repository
from tests.builders import build_deps


async def enqueue(deps: Deps) -> None:
    async with deps.unit_of_work() as tx:
        await enqueue_if_open(tx, deps, "study", "run_1", {}, "prj_1")


async def close(deps: Deps) -> None:
    async with deps.unit_of_work() as tx:
        await close_key(tx, "run_1", "prj_1")


async def until_done(deps: Deps, act: Callable[[Deps], Awaitable[None]]) -> None:
    """As the dispatcher does it: again after a conflict."""
    while True:
        try:
            await act(deps)
        except WriteConflict:
            continue
        return


async def active(deps: Deps) -> list[Job]:
    return await Repository(deps.database, Job).find({"status": {"$in": ["queued", "running"]}})


async def test_an_open_key_takes_jobs() -> None:
    deps = build_deps("hpo")
    await enqueue(deps)
    assert [job.key for job in await active(deps)] == ["run_1"]


async def test_closing_twice_is_harmless_and_cancels_once() -> None:
    deps = build_deps("hpo")
    await enqueue(deps)
    for expected in (1, 0):
        async with deps.unit_of_work() as tx:
            assert await close_key(tx, "run_1", "prj_1") == expected


async def test_no_job_survives_when_end_and_enqueueing_meet() -> None:
    for _ in range(20):
        deps = build_deps("hpo")
        await asyncio.gather(until_done(deps, enqueue), until_done(deps, close))
        assert await active(deps) == []
