"""What every bus must do, the fake one and the real one alike."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from chassis.bus.clients import BusClients
from chassis.bus.fake import FakeBrokers, FakeBus, FakeConsumer, FakeProducer
from chassis.bus.ports import Brokers, BusKind, Consumer, Message, Producer, Record
from chassis.topics import Topic, TopicCatalog
from infra.local.tansu import find_tansu
from tests.integration.broker import Broker

PATIENCE_S = 30


@dataclass(frozen=True)
class Bus:
    """Makers of clients of one bus, and a topic of four partitions."""

    topic: str
    producer: Callable[[], Producer]
    consumer: Callable[[str], Consumer]
    brokers: Brokers
    group: Callable[[str], str]
    """The name by which the brokers know a group."""


@pytest.fixture(scope="session")
def tansu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running Tansu."""
    broker = Broker.made(tmp_path_factory.mktemp("tansu"), find_tansu())
    with broker.running():
        yield broker


def real(kind: BusKind, address: str) -> Bus:
    """A bus with a topic that is not there yet."""
    topic = f"contract.{uuid.uuid4().hex}"
    clients = BusClients(address, kind, TopicCatalog((Topic(topic, "contract", "id", 4, 1, (), ()),)))
    return Bus(
        topic,
        lambda: clients.producer("contract"),
        lambda group: clients.consumer(f"{topic}.{group}", [topic], "contract"),
        clients,
        lambda group: f"{topic}.{group}",
    )


@pytest.fixture(params=["fake", "kafka", "tansu"])
async def bus(request: pytest.FixtureRequest) -> Bus:
    """A bus with an empty topic."""
    match request.param:
        case "kafka":
            bus = real("kafka", request.getfixturevalue("local_servers").kafka)
        case "tansu":
            bus = real("tansu", request.getfixturevalue("tansu").address)
        case _:
            fake, topic = FakeBus(partitions=4), "contract"
            bus = Bus(
                topic,
                lambda: FakeProducer(fake),
                lambda group: FakeConsumer(fake, group, [topic]),
                FakeBrokers(fake),
                lambda group: group,
            )
    await bus.brokers.make_topics()
    return bus


@pytest.fixture
def grouped(bus: Bus, request: pytest.FixtureRequest) -> Bus:
    """Members of a group on Tansu get everything each, see WholeTopicsConsumer."""
    if request.node.callspec.params["bus"] == "tansu":
        pytest.skip("Tansu's groups are not used")
    return bus


@pytest.fixture
async def closing() -> AsyncIterator[Callable[[Consumer], Consumer]]:
    """Closes at the end of the test what was handed to it."""
    async with AsyncExitStack() as stack:

        def closed_later(client: Consumer) -> Consumer:
            stack.push_async_callback(client.close)
            return client

        yield closed_later


@pytest.fixture
async def producer(bus: Bus) -> AsyncIterator[Producer]:
    """A producer, closed after the test."""
    producer = bus.producer()
    yield producer
    await producer.close()


def messages(topic: str, values: Sequence[int], key: str | None = None) -> list[Message]:
    """One message a value, with seven keys unless one is given."""
    return [
        Message(topic, (key or f"key{value % 7}").encode(), str(value).encode(), (("ce_id", str(value).encode()),))
        for value in values
    ]


async def read(consumer: Consumer, count: int) -> list[Record]:
    """Poll until so many records came."""
    records: list[Record] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(records) < count:
            records += await consumer.poll(0.5)
    return records


def values(records: Sequence[Record]) -> list[int]:
    """What `messages` put in."""
    return [int(record.value or b"") for record in records]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Try until it holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            pass


Closing = Callable[[Consumer], Consumer]


async def test_what_was_sent_arrives_as_it_was(bus: Bus, producer: Producer, closing: Closing) -> None:
    headers = (("ce_id", b"1"), ("traceparent", "ü".encode()))
    [position] = await producer.send_all([Message(bus.topic, b"run_1", b'{"a": 1}', headers)])

    [record] = await read(closing(bus.consumer("g")), 1)

    assert record == Record(bus.topic, position.partition, position.offset, b"run_1", b'{"a": 1}', headers)


async def test_nothing_sent_is_nothing_done(producer: Producer) -> None:
    assert await producer.send_all([]) == []


async def test_positions_are_those_of_the_messages_and_keys_stay_together(
    bus: Bus, producer: Producer, closing: Closing
) -> None:
    positions = await producer.send_all(messages(bus.topic, range(300)))

    records = await read(closing(bus.consumer("g")), 300)

    assert {(position.partition, position.offset) for position in positions} == {
        (record.partition, record.offset) for record in records
    }
    partitions = {record.key: record.partition for record in records}
    assert all(partitions[record.key] == record.partition for record in records)


async def test_a_key_keeps_the_order_of_its_messages(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(250), key="run_1"))
    await producer.send_all(messages(bus.topic, range(250, 500), key="run_1"))

    assert values(await read(closing(bus.consumer("g")), 500)) == list(range(500))


async def test_a_poll_returns_a_bounded_number(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(500)))
    consumer = closing(bus.consumer("g"))

    first = await read(consumer, 1)

    assert 0 < len(first) <= 200


async def test_an_empty_topic_gives_nothing_after_the_time(bus: Bus, closing: Closing) -> None:
    assert await closing(bus.consumer("g")).poll(0.1) == []


async def test_a_group_goes_on_after_what_it_committed(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(10), key="run_1"))
    first = bus.consumer("g")
    records = await read(first, 10)
    await first.commit(records[:4])
    await first.close()

    assert values(await read(closing(bus.consumer("g")), 6)) == [4, 5, 6, 7, 8, 9]


async def test_what_was_not_committed_comes_again(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(10)))
    first = bus.consumer("g")
    await read(first, 10)
    await first.close()

    assert sorted(values(await read(closing(bus.consumer("g")), 10))) == list(range(10))


async def test_every_group_gets_everything(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(10)))

    for group in ("g", "h"):
        assert sorted(values(await read(closing(bus.consumer(group)), 10))) == list(range(10))


async def test_members_of_a_group_share_the_partitions(grouped: Bus, producer: Producer, closing: Closing) -> None:
    members = [closing(grouped.consumer("g")) for _ in range(2)]
    got: list[list[Record]] = [[], []]

    async def both_get_some() -> bool:
        await producer.send_all(messages(grouped.topic, range(50)))
        polled = await asyncio.gather(*(member.poll(0.5) for member in members))
        for records, new in zip(got, polled, strict=True):
            records += new
        return all(polled)

    await until(both_get_some)


async def test_a_commit_for_a_partition_that_went_elsewhere_is_harmless(
    grouped: Bus, producer: Producer, closing: Closing
) -> None:
    await producer.send_all(messages(grouped.topic, range(50)))
    first = closing(grouped.consumer("g"))
    records = await read(first, 50)
    second = closing(grouped.consumer("g"))

    async def shared() -> bool:
        polled = await asyncio.gather(first.poll(0.5), second.poll(0.5))
        return bool(polled[1])

    await until(shared)
    await first.commit(records)


async def test_a_poll_that_is_cancelled_loses_nothing(bus: Bus, producer: Producer, closing: Closing) -> None:
    consumer = closing(bus.consumer("g"))
    polling = asyncio.create_task(consumer.poll(5))
    await asyncio.sleep(0)
    polling.cancel()
    await asyncio.wait({polling})
    await producer.send_all(messages(bus.topic, range(10)))

    assert sorted(values(await read(consumer, 10))) == list(range(10))


async def test_ends_come_after_the_last_record_where_they_are_known(bus: Bus, producer: Producer) -> None:
    positions = await producer.send_all(messages(bus.topic, range(20)))

    ends = await bus.brokers.ends([bus.topic, "not.there"])

    last = {position.partition: position.offset for position in positions}
    known = {place: end for place, end in ends.items() if end}
    assert known in ({}, {(bus.topic, partition): offset + 1 for partition, offset in last.items()})


async def test_topics_and_lag_are_known(bus: Bus, producer: Producer, closing: Closing) -> None:
    await producer.send_all(messages(bus.topic, range(20)))
    consumer, group = closing(bus.consumer("g")), bus.group("g")
    records = await read(consumer, 20)

    before = await bus.brokers.lags({group: [bus.topic]})
    assert (await bus.brokers.partitions())[bus.topic] == 4
    assert before in ({group: 20}, {group: None})

    await consumer.commit(records)
    assert (await bus.brokers.lags({group: [bus.topic]})) in ({group: 0}, {group: None})


async def test_topics_that_should_have_more_are_no_error(bus: Bus) -> None:
    """Kafka raises them, Tansu cannot and says so in its log."""
    if isinstance(bus.brokers, BusClients):
        more = TopicCatalog((Topic(bus.topic, "contract", "id", 6, 9, (), ()),))
        await replace(bus.brokers, topics=more).make_topics()
    await bus.brokers.make_topics()


async def test_the_cluster_has_one_identity(bus: Bus, producer: Producer) -> None:
    identity = await producer.cluster_id()
    await producer.send_all(messages(bus.topic, range(3)))

    assert identity
    assert await producer.cluster_id() == await bus.producer().cluster_id() == identity


async def test_closing_twice_is_harmless(bus: Bus) -> None:
    for client in (bus.producer(), bus.consumer("g")):
        await client.close()
        await client.close()
