"""The relay sends every row at least once, and per key in the order of the revisions."""

from collections.abc import Sequence

import pytest

from chassis.bus.cloudevents import decode
from chassis.bus.ports import Message, Position, Record
from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.errors import ServerUnavailable
from chassis.leases import LeaderLease
from chassis.relay import OutboxRelay
from schemas.base import Event
from schemas.dataset import ImportAccepted
from tests.builders import build_deps


class RecordingProducer:
    """Keeps what was sent; refuses while `away`."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.away = False

    async def send_all(self, messages: Sequence[Message]) -> list[Position]:
        if self.away:
            raise ServerUnavailable("bus_unavailable", "away")
        self.sent += messages
        return [Position(0, len(self.sent)) for _ in messages]

    async def close(self) -> None:
        self.away = True

    def events(self) -> list[Event]:
        return [decode(Record(m.topic, 0, i, m.key, m.value, m.headers)) for i, m in enumerate(self.sent)]


def relay_of(
    deps: Deps, producer: RecordingProducer, owner: str = "one", clock: FakeClock | None = None
) -> OutboxRelay:
    lease = LeaderLease(deps.database, "outbox-relay", owner, clock or FakeClock())
    return OutboxRelay("ingest", deps.database, producer, lease, deps.clock, deps.relay_wake)


async def emit(deps: Deps, count: int, dataset_id: str = "ds_1") -> None:
    for version in range(1, count + 1):
        async with deps.unit_of_work() as tx:
            tx.emit(ImportAccepted(dataset_id=dataset_id, import_id=f"imp_{version}", version=version))


async def test_rows_are_sent_once_in_the_order_of_their_revisions() -> None:
    deps, producer = build_deps("ingest"), RecordingProducer()
    await emit(deps, 12)
    await relay_of(deps, producer).turn()
    assert [event.meta.rev for event in producer.events()] == list(range(1, 13))
    assert await relay_of(deps, producer).send_pending() == 0


async def test_rows_stay_pending_while_the_broker_is_away() -> None:
    deps, producer = build_deps("ingest"), RecordingProducer()
    await emit(deps, 3)
    producer.away = True
    relay = relay_of(deps, producer)
    await relay.turn()
    assert producer.sent == []
    producer.away = False
    await relay.turn()
    assert [event.meta.rev for event in producer.events()] == [1, 2, 3]


async def test_a_limited_batch_never_leaves_out_an_earlier_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chassis.relay.BATCH", 5)
    deps, producer = build_deps("ingest"), RecordingProducer()
    await emit(deps, 7, "ds_1")
    await emit(deps, 7, "ds_2")
    relay = relay_of(deps, producer)
    while await relay.send_pending():
        pass
    revs = {key: [e.meta.rev for e in producer.events() if e.key == key] for key in ("ds_1", "ds_2")}
    assert revs == {"ds_1": list(range(1, 8)), "ds_2": list(range(1, 8))}


async def test_only_the_holder_of_the_lease_sends() -> None:
    deps, clock = build_deps("ingest"), FakeClock()
    first, second = RecordingProducer(), RecordingProducer()
    one, two = relay_of(deps, first, "one", clock), relay_of(deps, second, "two", clock)
    await one.lease.hold()
    await emit(deps, 1)
    await two.turn()
    assert second.sent == []
    await one.turn()
    assert len(first.sent) == 1


async def test_another_relay_takes_over_from_a_dead_one() -> None:
    deps, clock = build_deps("ingest"), FakeClock()
    dead, heir = relay_of(deps, RecordingProducer(), "one", clock), RecordingProducer()
    await dead.lease.hold()
    await emit(deps, 1)
    two = relay_of(deps, heir, "two", clock)
    assert not await two.lease.hold()
    clock.advance(two.lease.length_s + 0.1)
    await two.turn()
    assert len(heir.sent) == 1
