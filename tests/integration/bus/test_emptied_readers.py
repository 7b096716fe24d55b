"""A reader that outlives its cluster: an old place in a new, empty cluster means nothing, and no record is left out."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from chassis.bus.clients import BusClients
from chassis.bus.ports import Consumer, Message, Producer, Record
from chassis.errors import ServerUnavailable
from chassis.topics import Topic, TopicCatalog
from infra.local.bus import find_kafka
from infra.local.bus_runtime import BusRuntime
from infra.local.tansu import find_tansu
from tests.integration.broker import Broker

TOPIC = "emptied.events"
PATIENCE_S = 60

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Emptied:
    """A broker that is not running yet, and clients that connect at their first use."""

    broker: Broker
    clients: BusClients
    producer: Producer
    reader: Consumer

    async def send(self, numbers: Sequence[int]) -> None:
        """To one partition, in order, until they are acknowledged; the topic is made first."""
        messages = [Message(TOPIC, b"key", str(number).encode(), ()) for number in numbers]
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(ServerUnavailable):
                    await self.clients.make_topics()
                    await self.producer.send_all(messages)
                    return

    async def read(self, last: int) -> list[Record]:
        """Whatever the bus says meanwhile, up to the record of that number."""
        records: list[Record] = []
        async with asyncio.timeout(PATIENCE_S):
            while last not in numbers_of(records):
                with suppress(ServerUnavailable):
                    records += await self.reader.poll(0.5)
        return records


def numbers_of(records: Sequence[Record]) -> list[int]:
    return [int(record.value or b"") for record in records]


@pytest.fixture(params=["kafka", "tansu"])
async def emptied(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Emptied]:
    runtime: BusRuntime = find_kafka() if request.param == "kafka" else find_tansu()
    broker = Broker.made(tmp_path / "bus", runtime)
    clients = broker.clients(TopicCatalog((Topic(TOPIC, "writer", "id", 1, 1, (), ()),)))
    made = Emptied(broker, clients, clients.producer("writer"), clients.consumer("reader", [TOPIC], "reader"))
    yield made
    await made.reader.close()
    await made.producer.close()


async def test_a_new_cluster_that_has_grown_past_the_place_of_a_reader_is_read_from_its_start(emptied: Emptied) -> None:
    with emptied.broker.running():
        await emptied.send(range(4))
        await emptied.reader.commit(await emptied.read(3))
    emptied.broker.lose_everything()
    with emptied.broker.running():
        await emptied.send(range(100, 130))
        assert numbers_of(await emptied.read(129)) == list(range(100, 130))


async def test_a_commit_of_what_the_old_cluster_gave_means_nothing_to_the_new_one(emptied: Emptied) -> None:
    with emptied.broker.running():
        await emptied.send(range(8))
        in_hand = await emptied.read(7)
    emptied.broker.lose_everything()
    with emptied.broker.running():
        await emptied.send(range(100, 130))
        with suppress(ServerUnavailable):
            await emptied.reader.commit(in_hand)
        assert numbers_of(await emptied.read(129)) == list(range(100, 130))
