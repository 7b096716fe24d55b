"""A broker that is killed and comes back: clients say so, and go on by themselves."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import kafka
import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from chassis.bus.admin import cluster_id, create_topics, ping
from chassis.bus.kafka_consumer import KafkaConsumer
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Consumer, Message, Record
from chassis.errors import ServerUnavailable
from chassis.topics import Topic, TopicCatalog
from infra.local.bus import find_kafka
from tests.integration.broker import Broker

TOPIC = "restart.events"
PATIENCE_S = 60
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Clients:
    """One of each kind, on the same topic."""

    producer: KafkaProducer
    consumer: KafkaConsumer


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    """Formatted, not running."""
    return Broker.made(tmp_path / "kafka", find_kafka())


@pytest.fixture
async def clients(broker: Broker) -> AsyncIterator[Clients]:
    """Made before the broker runs: none of them connects before it is used."""
    clients = Clients(
        KafkaProducer(broker.address, "restart"),
        KafkaConsumer(broker.address, "restart", [TOPIC], client_id="restart"),
    )
    yield clients
    for client in (clients.producer, clients.consumer):
        await client.close()


async def send(clients: Clients, first: int, count: int) -> None:
    """Messages numbered from `first`, sent again until they are acknowledged."""
    messages = [
        Message(TOPIC, f"key{number % 5}".encode(), str(number).encode(), ()) for number in range(first, first + count)
    ]
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ServerUnavailable):
                await clients.producer.send_all(messages)
                return


async def read(consumer: Consumer, wanted: set[int]) -> list[Record]:
    """Poll, whatever the bus says, until all wanted numbers came."""
    records: list[Record] = []
    async with asyncio.timeout(PATIENCE_S):
        while not wanted <= {int(record.value or b"") for record in records}:
            with suppress(ServerUnavailable):
                records += await consumer.poll(0.5)
    return records


async def says_so(consumer: Consumer) -> None:
    """Poll until it raises."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await consumer.poll(0.5)
            except ServerUnavailable:
                return


async def test_clients_say_that_the_broker_is_away_and_go_on_when_it_is_back(broker: Broker, clients: Clients) -> None:
    with broker.running():
        await create_topics(broker.address, TopicCatalog((Topic(TOPIC, "restart", "id", 4, 1, (), ()),)))
        identity = await cluster_id(broker.address)
        await send(clients, 0, 50)
        await clients.consumer.commit(await read(clients.consumer, set(range(50))))

    with pytest.raises(ServerUnavailable):
        await ping(broker.address)
    with pytest.raises(ServerUnavailable):
        await clients.producer.send_all([Message(TOPIC, b"key0", b"0", ())])
    await says_so(clients.consumer)

    with broker.running():
        assert await cluster_id(broker.address) == identity
        await send(clients, 50, 50)
        records = await read(clients.consumer, set(range(50, 100)))
        await clients.consumer.commit(records)
        await clients.consumer.close()
        successor = KafkaConsumer(broker.address, "restart", [TOPIC], client_id="successor")
        await send(clients, 100, 1)
        assert {int(record.value or b"") for record in await read(successor, {100})} == {100}
        await successor.close()


async def test_a_client_that_meets_the_restart_while_polling_goes_on(broker: Broker, clients: Clients) -> None:
    with broker.running():
        await create_topics(broker.address, TopicCatalog((Topic(TOPIC, "restart", "id", 4, 1, (), ()),)))
        await send(clients, 0, 10)
        await read(clients.consumer, set(range(10)))

    with broker.running():
        await send(clients, 10, 10)
        await read(clients.consumer, set(range(10, 20)))


async def test_topics_are_made_once_and_kept(broker: Broker) -> None:
    name = f"made.{uuid.uuid4().hex}"
    catalog = TopicCatalog((Topic(name, "restart", "id", 3, 30, (), ()),))
    with broker.running():
        assert await create_topics(broker.address, catalog) == [name]
        assert await create_topics(broker.address, catalog) == []
        with pytest.raises(ServerUnavailable, match="replication factor"):
            await create_topics(
                broker.address, TopicCatalog((Topic("too.many", "restart", "id", 1, 1, (), ()),)), replication_factor=3
            )


async def test_topics_get_the_partitions_and_the_retention_that_they_lack(broker: Broker) -> None:
    before = TopicCatalog((Topic("less", "w", "id", 2, 1, (), ()), Topic("more", "w", "id", 4, 9, (), ())))
    wanted = TopicCatalog((Topic("less", "w", "id", 3, 7, (), ()), Topic("more", "w", "id", 3, 7, (), ())))
    with broker.running():
        await create_topics(broker.address, before)
        assert await create_topics(broker.address, wanted) == []
        assert figures(broker.address, "less") == (3, 7 * DAY_MS)
        assert figures(broker.address, "more") == (4, 9 * DAY_MS)


def figures(address: str, topic: str) -> tuple[int, int]:
    """Partitions, and retention in milliseconds."""
    admin = kafka.KafkaAdminClient(bootstrap_servers=[address])
    try:
        [found] = admin.describe_topics([topic])
        settings = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])["topic"][topic]
        return len(found["partitions"]), int(settings["retention.ms"]["value"])
    finally:
        admin.close()
