"""The relay sends every row at least once, and per key in the order of the revisions."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from prometheus_client import REGISTRY

from chassis.bus.cloudevents import decode
from chassis.bus.fake import FakeBrokers, FakeBus, FakeProducer
from chassis.bus.ports import Message, Record
from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.leases import LeaderLease
from chassis.lost_rows import LOOK_S, LostRows
from chassis.relay import OutboxRelay
from chassis.unit_of_work import OUTBOX
from schemas.dataset import ImportAccepted
from tests.builders import build_deps


class Sending(NamedTuple):
    relay: OutboxRelay
    producer: FakeProducer


def relay_of(deps: Deps, bus: FakeBus, owner: str = "one", clock: FakeClock | None = None) -> Sending:
    clock = clock or FakeClock()
    producer, lease = FakeProducer(bus), LeaderLease(deps.database, "outbox-relay", owner, clock)
    lost = LostRows(deps.database, producer, FakeBrokers(bus), clock, ["ingest.events"])
    return Sending(OutboxRelay("ingest", deps.database, producer, lease, deps.clock, deps.relay_wake, lost), producer)


def revisions(messages: Sequence[Message], key: str = "ds_1") -> list[int]:
    events = [decode(Record(m.topic, 0, i, m.key, m.value, m.headers)) for i, m in enumerate(messages)]
    return [event.meta.rev for event in events if event.key == key]


async def emit(deps: Deps, count: int, dataset_id: str = "ds_1") -> None:
    for version in range(1, count + 1):
        async with deps.unit_of_work() as tx:
            tx.emit(ImportAccepted(dataset_id=dataset_id, import_id=f"imp_{version}", version=version))


async def test_rows_are_sent_once_in_the_order_of_their_revisions() -> None:
    deps, bus = build_deps("ingest"), FakeBus()
    await emit(deps, 12)
    relay, producer = relay_of(deps, bus)
    await relay.turn()
    assert revisions(producer.sent) == list(range(1, 13))
    assert await relay_of(deps, bus).relay.send_pending() == 0


async def test_how_long_the_oldest_row_waits_is_measured_also_while_the_broker_is_away() -> None:
    clock = FakeClock()
    deps, bus = build_deps("ingest", clock=clock), FakeBus()
    relay, _ = relay_of(deps, bus, clock=clock)
    await emit(deps, 2)
    clock.advance(90)
    bus.answering = False
    await relay.turn()
    assert REGISTRY.get_sample_value("easyloop_outbox_age_seconds", {"service": "ingest"}) == 90.0
    bus.answering = True
    await relay.turn()
    await relay.turn()
    assert REGISTRY.get_sample_value("easyloop_outbox_age_seconds", {"service": "ingest"}) == 0.0


async def test_rows_stay_pending_while_the_broker_is_away() -> None:
    deps, bus = build_deps("ingest"), FakeBus()
    await emit(deps, 3)
    bus.answering = False
    relay, producer = relay_of(deps, bus)
    await relay.turn()
    assert producer.sent == []
    bus.answering = True
    await relay.turn()
    assert revisions(producer.sent) == [1, 2, 3]


async def test_a_limited_batch_never_leaves_out_an_earlier_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chassis.relay.BATCH", 5)
    deps = build_deps("ingest")
    await emit(deps, 7, "ds_1")
    await emit(deps, 7, "ds_2")
    relay, producer = relay_of(deps, FakeBus())
    while await relay.send_pending():
        pass
    assert revisions(producer.sent, "ds_1") == revisions(producer.sent, "ds_2") == list(range(1, 8))


async def test_only_the_holder_of_the_lease_sends() -> None:
    deps, clock, bus = build_deps("ingest"), FakeClock(), FakeBus()
    one, two = relay_of(deps, bus, "one", clock), relay_of(deps, bus, "two", clock)
    await one.relay.lease.hold()
    await emit(deps, 1)
    await two.relay.turn()
    assert two.producer.sent == []
    await one.relay.turn()
    assert len(one.producer.sent) == 1


async def test_another_relay_takes_over_from_a_dead_one() -> None:
    deps, clock, bus = build_deps("ingest"), FakeClock(), FakeBus()
    dead, heir = relay_of(deps, bus, "one", clock), relay_of(deps, bus, "two", clock)
    await dead.relay.lease.hold()
    await emit(deps, 1)
    assert not await heir.relay.lease.hold()
    clock.advance(heir.relay.lease.length_s + 0.1)
    await heir.relay.turn()
    assert len(heir.producer.sent) == 1


async def test_an_emptied_bus_gets_everything_again_in_order() -> None:
    deps, bus = build_deps("ingest"), FakeBus()
    relay, _ = relay_of(deps, bus)
    await emit(deps, 5)
    await relay.turn()
    bus.lose_everything()
    await emit(deps, 2)

    heir = relay_of(deps, bus)  # also by a relay that has never seen the old one
    await heir.relay.turn()

    assert revisions(heir.producer.sent) == [1, 2, 3, 4, 5, 6, 7]
    await heir.relay.turn()
    assert len(heir.producer.sent) == 7


async def test_a_topic_that_lost_its_latest_records_gets_those_again() -> None:
    deps, bus, clock = build_deps("ingest"), FakeBus(partitions=1), FakeClock()
    relay, producer = relay_of(deps, bus, clock=clock)
    await relay.turn()
    await emit(deps, 5)
    await relay.turn()
    del bus.topics["ingest.events"][0][3:]

    await relay.turn()
    assert len(producer.sent) == 5  # it does not look at every turn
    clock.advance(LOOK_S)
    await relay.turn()

    assert revisions(producer.sent) == [1, 2, 3, 4, 5, 4, 5]
    assert len(bus.records("ingest.events")) == 5


async def test_a_topic_that_was_emptied_and_has_grown_again_gets_what_it_lost() -> None:
    deps, bus = build_deps("ingest"), FakeBus(partitions=1)
    relay, _ = relay_of(deps, bus)
    await emit(deps, 5)
    await relay.turn()
    del bus.topics["ingest.events"][0][:]
    await emit(deps, 2)

    await relay.turn()
    await relay.turn()

    records = [decode(record) for record in bus.records("ingest.events")]
    assert [event.meta.rev for event in records][-7:] == [1, 2, 3, 4, 5, 6, 7]
    assert {row["status"] for row in await deps.database.find(OUTBOX, {})} == {"sent"}


async def test_a_topic_that_is_gone_is_made_once_sending_has_failed() -> None:
    deps, bus = build_deps("ingest"), FakeBus()
    relay, _ = relay_of(deps, bus)
    await relay.turn()
    await relay.turn()
    assert bus.times_made == 1
    await emit(deps, 1)
    bus.answering = False
    await relay.turn()
    bus.answering = True
    await relay.turn()
    assert bus.times_made == 2


async def test_a_row_does_not_live_longer_for_being_sent_again() -> None:
    """Its age is that of the first sending, so that the inboxes of those who handled it remember it longer."""
    deps, bus = build_deps("ingest"), FakeBus()
    assert isinstance(deps.clock, FakeClock)
    relay, _ = relay_of(deps, bus)
    await emit(deps, 1)
    await relay.turn()
    [first] = await deps.database.find(OUTBOX, {})
    deps.clock.advance(3600)
    bus.lose_everything()
    await relay.turn()

    [again] = await deps.database.find(OUTBOX, {})
    assert (again["status"], again["sent_at"]) == ("sent", first["sent_at"])
