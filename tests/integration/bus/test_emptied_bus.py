"""A bus that comes back empty: the outbox is sent again, in order, and readers begin at the beginning."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chassis.bus.cloudevents import decode
from chassis.bus.ports import Consumer
from chassis.clock import FakeClock
from chassis.deps import Deps
from chassis.errors import ServerUnavailable
from chassis.leases import LeaderLease
from chassis.lost_rows import LostRows
from chassis.relay import OutboxRelay
from chassis.topics import load_topics
from infra.local.bus import find_kafka
from infra.local.bus_runtime import BusRuntime
from infra.local.tansu import find_tansu
from schemas.dataset import ImportAccepted
from tests.builders import build_deps
from tests.integration.broker import Broker

TOPIC = "ingest.events"
PATIENCE_S = 60


@pytest.fixture(params=["kafka", "tansu"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Broker:
    """Not running."""
    runtime: BusRuntime = find_kafka() if request.param == "kafka" else find_tansu()
    return Broker.made(tmp_path / "bus", runtime)


async def emit(deps: Deps, numbers: Iterator[int], count: int) -> None:
    for version in (next(numbers) for _ in range(count)):
        async with deps.unit_of_work() as tx:
            tx.emit(ImportAccepted(dataset_id=f"ds_{version % 3}", import_id=f"imp_{version}", version=version))


async def versions_by_key(consumer: Consumer, count: int) -> dict[str, list[int]]:
    """Of so many records, whatever the bus says meanwhile."""
    found: dict[str, list[int]] = {}
    async with asyncio.timeout(PATIENCE_S):
        while sum(map(len, found.values())) < count:
            with suppress(ServerUnavailable):
                for record in await consumer.poll(0.5):
                    event = decode(record)
                    assert isinstance(event, ImportAccepted)
                    found.setdefault(event.key, []).append(event.version)
                await consumer.commit([])
    return found


async def send(relay: OutboxRelay, deps: Deps) -> None:
    """Turn the relay until nothing is pending."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await relay.turn()
            if not await deps.database.find("outbox", {"status": "pending"}):
                return


async def test_what_was_sent_before_comes_again_before_what_is_new(broker: Broker) -> None:
    deps, numbers = build_deps("ingest"), iter(range(1, 1000))
    clients = broker.clients(load_topics())
    producer, consumer = clients.producer("ingest"), clients.consumer("reader", [TOPIC], "reader")
    lost = LostRows(deps.database, producer, clients, deps.clock, [TOPIC])
    lease = LeaderLease(deps.database, "outbox-relay", "one", FakeClock())
    relay = OutboxRelay("ingest", deps.database, producer, lease, deps.clock, deps.relay_wake, lost)
    with broker.running():
        await clients.make_topics()
        await emit(deps, numbers, 30)
        await send(relay, deps)
        before = await versions_by_key(consumer, 30)
    broker.lose_everything()
    await emit(deps, numbers, 10)
    with broker.running():
        await send(relay, deps)
        again = await versions_by_key(consumer, 40)
    await consumer.close()
    await producer.close()
    assert sum(map(len, before.values())) == 30
    assert all(versions == sorted(versions) for versions in again.values())
    assert {version for versions in again.values() for version in versions} == set(range(1, 41))
