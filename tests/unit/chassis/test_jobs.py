"""A job has one holder; whoever lost it writes nothing; a death costs an attempt, not the job."""

import asyncio
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.errors import StaleLease
from chassis.job_processes import JobProcesses, this_python
from chassis.jobs import Job, JobKind, JobQueue, Message, cancel_jobs, check_fence, enqueue
from chassis.records import Repository
from chassis.unit_of_work import UnitOfWork
from chassis.worker import LEASE_S, JobWorker
from schemas.base import Failure
from tests.builders import build_deps

ECHO = "tests.unit.chassis.job_echo"


async def a_job(deps: Deps, then: str = "finish") -> Job:
    async with deps.unit_of_work() as tx:
        return await enqueue(tx, deps, "echo", "run_1", {"then": then})


async def stored(deps: Deps) -> Job:
    (job,) = await Repository(deps.database, Job).find({})
    return job


def queue_of(deps: Deps, owner: str) -> JobQueue:
    return JobQueue(deps, ("echo",), owner, LEASE_S)


class Outcomes:
    """What the service was told."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[Message] = []
        self.failures: list[Failure] = []

    def kind(self) -> JobKind[Deps]:
        async def message(job: Job, what: Message, tx: UnitOfWork, deps: Deps) -> None:
            self.messages.append(what)

        async def result(job: Job, what: Message, tx: UnitOfWork, deps: Deps) -> None:
            self.results.append(what)

        async def failure(job: Job, what: Failure, tx: UnitOfWork, deps: Deps) -> None:
            self.failures.append(what)

        return JobKind("echo", message, result, failure)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "EASYLOOP_MONGO_URI": "mongodb://127.0.0.1:1",
        "EASYLOOP_S3_ENDPOINT": "127.0.0.1:1",
        "EASYLOOP_S3_ACCESS_KEY": "a",
        "EASYLOOP_S3_SECRET_KEY": "b",
        "EASYLOOP_DATA_DIR": str(tmp_path),
    }


def worker_of(
    deps: Deps,
    outcomes: Outcomes,
    env: dict[str, str],
    spare_after_s: float = math.inf,
    is_calm: Callable[[], bool] = lambda: True,
) -> JobWorker[Deps]:
    processes = JobProcesses(this_python(ECHO), env, spare_after_s, is_calm)
    return JobWorker(deps, {"echo": outcomes.kind()}, queue_of(deps, "me"), processes)


async def test_a_job_has_one_holder() -> None:
    deps = build_deps("trainer")
    await a_job(deps)
    claimed = await queue_of(deps, "one").claim()
    assert claimed is not None
    assert await queue_of(deps, "two").claim() is None


async def test_a_silent_holder_loses_the_job_and_its_writes_are_refused() -> None:
    clock = FakeClock()
    deps = build_deps("trainer", clock=clock)
    await a_job(deps)
    first, second = queue_of(deps, "one"), queue_of(deps, "two")
    lost = await first.claim()
    assert lost is not None
    assert await second.claim() is None
    clock.advance(LEASE_S + 1)
    taken = await second.claim()
    assert taken is not None
    assert (taken.fence, taken.attempts) == (2, 2)
    assert not await first.beat(lost, 1)
    with pytest.raises(StaleLease):
        async with deps.unit_of_work() as tx:
            await check_fence(tx, lost)


async def test_a_holder_that_beats_keeps_the_job() -> None:
    clock = FakeClock()
    deps = build_deps("trainer", clock=clock)
    await a_job(deps)
    first, second = queue_of(deps, "one"), queue_of(deps, "two")
    job = await first.claim()
    assert job is not None
    for beat in range(1, 6):
        assert await first.beat(job, beat)
        assert await second.claim() is None
        clock.advance(LEASE_S - 1)


async def test_the_result_is_handed_over_once_and_the_job_is_done(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    await a_job(deps)
    await worker_of(deps, outcomes, env).turn()
    assert outcomes.results == [{"answer": 42}]
    assert [list(message) for message in outcomes.messages] == [["attempt"]]
    assert (await stored(deps)).status == "done"


async def test_a_named_failure_ends_the_job_with_its_reason(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    await a_job(deps, "fail")
    await worker_of(deps, outcomes, env).turn()
    assert [failure.code for failure in outcomes.failures] == ["bad_data"]
    assert (await stored(deps)).status == "failed"


async def test_a_process_that_dies_is_started_again_a_bounded_number_of_times(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    await a_job(deps, "die")
    worker = worker_of(deps, outcomes, env)
    for _ in range(4):
        await worker.turn()
    assert len(outcomes.messages) == 3
    assert [failure.code for failure in outcomes.failures] == ["job_died"]
    assert (await stored(deps)).status == "failed"


async def _until(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_cancelled_job_is_stopped_and_reports_nothing(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    await a_job(deps, "hang")
    turn = asyncio.create_task(worker_of(deps, outcomes, env).turn())
    await _until(lambda: outcomes.messages)
    async with deps.unit_of_work() as tx:
        assert await cancel_jobs(tx, "run_1") == 1
    await asyncio.wait_for(turn, 30)
    assert (outcomes.results, outcomes.failures) == ([], [])
    assert (await stored(deps)).status == "cancelled"


async def test_a_clean_stop_hands_the_job_back(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    await a_job(deps, "hang")
    turn = asyncio.create_task(worker_of(deps, outcomes, env).turn())
    await _until(lambda: outcomes.messages)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    job = await stored(deps)
    assert (job.status, job.attempts) == ("queued", 0)


async def test_a_process_that_waits_takes_the_next_job(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    worker = worker_of(deps, outcomes, env, spare_after_s=0)
    await worker.turn()
    waiting = worker.processes.spare_pid
    assert waiting is not None
    for _ in range(2):
        await a_job(deps)
    for _ in range(2):
        await worker.turn()
    first, second = (message["attempt"] for message in outcomes.messages)
    assert first == waiting != second
    assert outcomes.results == [{"answer": 42}] * 2


async def test_nothing_waits_before_the_worker_was_idle_long_enough(env: dict[str, str]) -> None:
    clock = FakeClock()
    deps = build_deps("trainer", clock=clock)
    worker = worker_of(deps, Outcomes(), env, spare_after_s=20)
    await worker.turn()
    clock.advance(19)
    await worker.turn()
    assert worker.processes.spare_pid is None
    clock.advance(1)
    await worker.turn()
    assert worker.processes.spare_pid is not None
    await worker.processes.close()


async def test_nothing_waits_while_the_machine_is_busy(env: dict[str, str]) -> None:
    worker = worker_of(build_deps("trainer"), Outcomes(), env, spare_after_s=0, is_calm=lambda: False)
    await worker.turn()
    assert worker.processes.spare_pid is None


async def test_a_waiting_process_that_died_costs_an_attempt_at_most(env: dict[str, str]) -> None:
    deps, outcomes = build_deps("trainer"), Outcomes()
    worker = worker_of(deps, outcomes, env, spare_after_s=0)
    await worker.turn()
    waiting = worker.processes.spare_pid
    assert waiting is not None
    os.kill(waiting, signal.SIGKILL)
    await a_job(deps)
    await worker.turn()
    await worker.turn()
    assert outcomes.results == [{"answer": 42}]


async def test_a_waiting_process_ends_with_its_worker(env: dict[str, str]) -> None:
    worker = worker_of(build_deps("trainer"), Outcomes(), env, spare_after_s=0)
    await worker.turn()
    waiting = worker.processes.spare_pid
    assert waiting is not None
    await worker.processes.close()
    with pytest.raises(ProcessLookupError):
        os.kill(waiting, 0)
