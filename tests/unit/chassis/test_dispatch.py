"""A failing event never blocks its partition, never loses its place, and is never dropped."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from prometheus_client import REGISTRY

from chassis.clock import FakeClock
from chassis.deps import Deps, Handlers
from chassis.documents.fake import FakeDatabase
from chassis.errors import PermanentError, ServerUnavailable, TransientError, WriteConflict
from chassis.failures import DONE_AT, FailedEvent, RetryPolicy
from chassis.records import Repository
from schemas.deadletter import EventDeadLettered
from schemas.requests import DatasetRequested
from tests.builders import build_deps, dispatcher, emitted, record_of

OPEN_METRICS = ("easyloop_failures_open", "easyloop_parked_keys")


@dataclass
class Log:
    """A handler that writes down what it saw and fails as told."""

    seen: list[str] = field(default_factory=list)
    trouble: Callable[[DatasetRequested], Exception | None] = lambda _: None

    async def handle(self, event: DatasetRequested, deps: Deps) -> None:
        if error := self.trouble(event):
            raise error
        async with deps.unit_of_work(cause=event):
            self.seen.append(event.name)

    @property
    def handlers(self) -> Handlers:
        return {DatasetRequested: self.handle}


def a_request(name: str, dataset_id: str = "ds_1") -> DatasetRequested:
    return DatasetRequested(dataset_id=dataset_id, name=name, task="image_classification")


async def failures(deps: Deps) -> list[FailedEvent]:
    return sorted(await Repository(deps.database, FailedEvent).find({}), key=lambda row: row.id)


async def test_an_event_takes_effect_once_however_often_delivered() -> None:
    deps, log = build_deps("ingest"), Log()
    record = record_of(a_request("a"), event_id="evt_1")
    for _ in range(3):
        await dispatcher(deps, log.handlers).deliver(record)
    assert log.seen == ["a"]


async def test_a_failed_event_is_tried_again_and_later_ones_of_its_key_wait_for_it() -> None:
    clock = FakeClock()
    deps = build_deps("ingest", clock=clock)
    log = Log(trouble=lambda event: TransientError("away", "away") if event.name == "first" else None)
    bus = dispatcher(deps, log.handlers)
    for name, dataset in (("first", "ds_1"), ("second", "ds_1"), ("other", "ds_2")):
        await bus.deliver(record_of(a_request(name, dataset)))
    assert log.seen == ["other"]
    assert not await bus.retry_due()
    open_, keys = (REGISTRY.get_sample_value(name, {"service": "ingest"}) for name in OPEN_METRICS)
    assert (open_, keys) == (2, 1)
    log.trouble = lambda _: None
    clock.advance(60)
    while await bus.retry_due():
        pass
    assert log.seen == ["other", "first", "second"]
    assert [row.status for row in await failures(deps)] == ["done", "done"]


async def test_a_failure_that_is_done_has_the_date_from_which_it_expires() -> None:
    deps, log = build_deps("ingest"), Log(trouble=lambda event: TransientError("away", "away"))
    bus = dispatcher(deps, log.handlers)
    await bus.deliver(record_of(a_request("first")))
    [waiting] = await deps.database.find(FailedEvent.COLLECTION, {})
    assert DONE_AT not in waiting
    log.trouble = lambda _: None
    assert isinstance(deps.clock, FakeClock)
    deps.clock.advance(60)
    await bus.retry_due()
    [done] = await deps.database.find(FailedEvent.COLLECTION, {})
    assert (done["status"], done[DONE_AT]) == ("done", deps.clock.now())


async def test_an_event_arriving_while_others_are_parked_parks_too() -> None:
    clock = FakeClock()
    deps = build_deps("ingest", clock=clock)
    log = Log(trouble=lambda event: TransientError("away", "away") if event.name == "first" else None)
    bus = dispatcher(deps, log.handlers)
    await bus.deliver(record_of(a_request("first")))
    await bus.deliver(record_of(a_request("second")))
    log.trouble = lambda _: None
    clock.advance(60)
    await bus.retry_due()
    await bus.deliver(record_of(a_request("third")))
    while await bus.retry_due():
        pass
    assert log.seen == ["first", "second", "third"]


async def test_a_permanent_error_is_a_dead_letter_at_once_and_frees_its_key() -> None:
    deps = build_deps("ingest")
    log = Log(trouble=lambda event: PermanentError("bad", "It is bad.") if event.name == "bad" else None)
    bus = dispatcher(deps, log.handlers)
    await bus.deliver(record_of(a_request("bad"), event_id="evt_bad"))
    await bus.deliver(record_of(a_request("good")))
    assert log.seen == ["good"]
    (letter,) = await emitted(deps)
    assert isinstance(letter, EventDeadLettered)
    assert (letter.event_id, letter.failure.code, letter.attempts) == ("evt_bad", "bad", 1)


async def test_attempts_are_bounded_whatever_the_handler_raises() -> None:
    clock = FakeClock()
    deps = build_deps("ingest", clock=clock)
    log = Log(trouble=lambda _: KeyError("winner"))
    bus = dispatcher(deps, log.handlers, RetryPolicy(attempts=3))
    await bus.deliver(record_of(a_request("a")))
    for _ in range(5):
        clock.advance(120)
        await bus.retry_due()
    (row,) = await failures(deps)
    assert (row.status, row.attempts, row.code) == ("dead", 3, "handler_failed")
    assert len(await emitted(deps)) == 1


async def test_a_record_that_is_no_event_is_a_dead_letter_with_its_reason() -> None:
    deps = build_deps("ingest")
    record = replace(record_of(a_request("a")), value=b"\xff not json")
    await dispatcher(deps, Log().handlers).deliver(record)
    (row,) = await failures(deps)
    assert (row.status, row.code) == ("dead", "malformed_event")
    assert row.record() == record


async def test_a_server_that_is_away_is_no_fault_of_the_event() -> None:
    deps = build_deps("ingest")
    log = Log(trouble=lambda _: ServerUnavailable("s3_unavailable", "away"))
    with pytest.raises(ServerUnavailable):
        await dispatcher(deps, log.handlers).deliver(record_of(a_request("a")))
    assert await failures(deps) == []


async def test_a_write_conflict_is_run_again_at_once() -> None:
    deps, conflicts = build_deps("ingest"), [WriteConflict(), WriteConflict()]
    log = Log(trouble=lambda _: conflicts.pop() if conflicts else None)
    await dispatcher(deps, log.handlers).deliver(record_of(a_request("a")))
    assert log.seen == ["a"]
    assert await failures(deps) == []


async def test_nothing_is_acknowledged_while_the_database_is_away() -> None:
    database = FakeDatabase()
    deps = build_deps("ingest", database=database)
    database.answering = False
    with pytest.raises(ServerUnavailable):
        await dispatcher(deps, Log().handlers).deliver(record_of(a_request("a")))


@pytest.mark.parametrize(("attempts", "expected"), [(1, 1.0), (2, 2.0), (5, 16.0), (6, None)])
def test_backoff_doubles_and_ends(attempts: int, expected: float | None) -> None:
    assert RetryPolicy(attempts=6).delay_s(attempts, luck=1.0) == expected
