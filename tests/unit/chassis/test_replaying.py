"""A dead letter that is replayed: tried from the start, takes effect once, and is dead again when it fails again."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from chassis.clock import FakeClock
from chassis.deps import Deps, Handlers
from chassis.errors import PermanentError, TransientError
from chassis.failures import FailedEvent
from chassis.records import Repository
from chassis.replaying import rearm
from schemas.deadletter import DeadLetterReplayRequested, EventDeadLettered
from schemas.requests import DatasetRequested
from tests.builders import build_deps, dispatcher, emitted, record_of


@dataclass
class Service:
    """A service whose handler needs something that is not there at first."""

    deps: Deps
    trouble: Exception | None = field(default_factory=lambda: PermanentError("missing", "It is not there; make it."))
    seen: list[str] = field(default_factory=list)

    async def handle(self, event: DatasetRequested, deps: Deps) -> None:
        async with deps.unit_of_work(cause=event):
            if self.trouble and event.name.startswith("bad"):
                raise self.trouble
        self.seen.append(event.name)

    @property
    def handlers(self) -> Handlers:
        return {DatasetRequested: self.handle, DeadLetterReplayRequested: rearm}

    async def receive(self, name: str, event_id: str = "") -> None:
        event = DatasetRequested(dataset_id="ds_1", name=name, task="image_classification")
        await dispatcher(self.deps, self.handlers).deliver(record_of(event, event_id=event_id))

    async def is_asked(self, failure_id: str, service: str = "ingest") -> None:
        event = DeadLetterReplayRequested(service=service, failure_id=failure_id, actor="ann")
        await dispatcher(self.deps, self.handlers).deliver(record_of(event))

    async def retry(self) -> None:
        while await dispatcher(self.deps, self.handlers).retry_due():
            pass

    async def rows(self) -> Sequence[FailedEvent]:
        return sorted(await Repository(self.deps.database, FailedEvent).find({}), key=lambda row: row.id)


@pytest.fixture
def service() -> Service:
    return Service(build_deps("ingest", clock=FakeClock()))


async def test_a_mended_dead_letter_takes_effect_once_however_often_it_is_replayed(service: Service) -> None:
    await service.receive("bad")
    [row] = await service.rows()
    service.trouble = None
    for _ in range(3):
        await service.is_asked(row.id)
        await service.retry()
    assert service.seen == ["bad"]
    [after] = await service.rows()
    assert (after.status, after.replays) == ("done", 1)


async def test_what_was_handled_meanwhile_is_not_handled_again(service: Service) -> None:
    await service.receive("bad", event_id="evt_1")
    service.trouble = None
    await service.receive("bad", event_id="evt_1")
    assert service.seen == ["bad"]
    [row] = await service.rows()
    await service.is_asked(row.id)
    await service.retry()
    assert service.seen == ["bad"]
    assert [row.status for row in await service.rows()] == ["done"]


async def test_what_fails_again_is_dead_again_and_announced_again(service: Service) -> None:
    await service.receive("bad")
    [row] = await service.rows()
    await service.is_asked(row.id)
    await service.retry()
    letters = [event for event in await emitted(service.deps) if isinstance(event, EventDeadLettered)]
    assert [(letter.failure_id, letter.attempts) for letter in letters] == [(row.id, 1), (row.id, 1)]
    [after] = await service.rows()
    assert (after.status, after.replays, after.dead_at) == ("dead", 1, service.deps.clock.now())


async def test_a_replay_gets_all_its_attempts_and_later_events_of_the_key_wait_for_it(service: Service) -> None:
    await service.receive("bad")
    [row] = await service.rows()
    service.trouble = TransientError("away", "It is away.")
    await service.is_asked(row.id)
    await service.retry()
    await service.receive("later")
    assert [(one.status, one.attempts) for one in await service.rows()] == [("retrying", 1), ("parked", 0)]
    service.trouble = None
    clock = service.deps.clock
    assert isinstance(clock, FakeClock)
    clock.advance(60)
    await service.retry()
    assert service.seen == ["bad", "later"]


@pytest.mark.parametrize("kind", ["unknown", "retrying", "another service's"])
async def test_what_is_not_dead_here_is_left_alone(
    service: Service, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chassis.replaying")
    service.trouble = TransientError("away", "It is away.") if kind == "retrying" else service.trouble
    await service.receive("bad")
    [row] = await service.rows()
    failure_id = "fail_9" if kind == "unknown" else row.id
    await service.is_asked(failure_id, "preprocess" if kind == "another service's" else "ingest")
    assert await service.rows() == [row]
    said = [record for record in caplog.records if record.name == "chassis.replaying"]
    assert bool(said) is (kind != "another service's")
