"""The Faust streams on a real broker: nothing is committed before it is done, whatever dies."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from chassis.bus.admin import cluster_id, create_topics
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message, Record
from chassis.errors import ServerUnavailable
from chassis.topics import Topic, TopicCatalog
from infra.local.bus import find_kafka
from services.preprocess.streams_runner import StreamPlace, Streams, StreamsFailed
from tests.integration.broker import Broker
from tests.servers import LocalServers

HEADERS = (("ce_id", b"1"), ("ce_type", "größe".encode()))
PATIENCE_S = 120

Deliver = Callable[[Record], Awaitable[None]]


def streams_of(place: StreamPlace, deliver: Deliver) -> Streams:
    return Streams(place, deliver, lambda: cluster_id(place.bootstrap_servers))


class Supervised:
    """Streams that are started afresh whenever they fail, as the supervisor does with the service."""

    def __init__(self, place: StreamPlace, deliver: Deliver) -> None:
        self._place = place
        self._deliver = deliver
        self._streams = streams_of(place, deliver)
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self._streams.turn()
            except (StreamsFailed, ServerUnavailable, OSError):
                self._streams = streams_of(self._place, self._deliver)

    async def stop(self) -> None:
        """As the service at SIGTERM."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._streams.close()


class Seen:
    """What was delivered, by value."""

    def __init__(self) -> None:
        self.records: defaultdict[int, list[Record]] = defaultdict(list)
        self._news = asyncio.Event()

    async def __call__(self, record: Record) -> None:
        self.records[int(record.value or b"")].append(record)
        self._news.set()

    async def all_of(self, wanted: range) -> None:
        """Returns once each of these was delivered."""
        async with asyncio.timeout(PATIENCE_S):
            while not set(wanted) <= set(self.records):
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def place(local_servers: LocalServers, tmp_path: Path) -> StreamPlace:
    """A topic and a group of its own on the shared broker."""
    return a_place(local_servers.kafka, tmp_path)


def a_place(address: str, folder: Path) -> StreamPlace:
    name = f"streams-{uuid.uuid4().hex}"
    return StreamPlace(address, name, [name], folder / "streams", concurrency=2)


async def send(place: StreamPlace, numbers: range) -> None:
    """One message a number, each of a key of its own, until the broker has acknowledged all."""
    producer, (topic,) = KafkaProducer(place.bootstrap_servers, "streams-test"), place.topics
    messages = [Message(topic, f"key{number}".encode(), str(number).encode(), HEADERS) for number in numbers]
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ServerUnavailable):
                await create_topics(place.bootstrap_servers, TopicCatalog((Topic(topic, "test", "id", 4, 1, (), ()),)))
                await producer.send_all(messages)
                break
    await producer.close()


async def test_records_arrive_whole_and_are_worked_on_side_by_side(place: StreamPlace) -> None:
    seen, pair = Seen(), asyncio.Barrier(2)

    async def deliver(record: Record) -> None:
        await pair.wait()  # passes only while another record is in work
        await seen(record)

    await send(place, range(10))
    streams = Supervised(place, deliver)
    await seen.all_of(range(10))
    await streams.stop()
    record = seen.records[7][0]
    assert (record.topic, record.key, record.value, record.headers) == (place.topics[0], b"key7", b"7", HEADERS)


async def test_what_was_in_work_at_the_stop_comes_again_with_all_behind_it(place: StreamPlace) -> None:
    seen, begun = Seen(), asyncio.Event()

    async def never_ends(record: Record) -> None:
        if record.value == b"0":
            begun.set()
            await asyncio.Event().wait()
        await seen(record)

    await send(place, range(8))
    first = Supervised(place, never_ends)
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
    await seen.all_of(range(1, 8))
    await first.stop()
    again = Seen()
    second = Supervised(place, again)
    await again.all_of(range(1))
    await second.stop()


async def test_a_server_that_is_away_holds_a_record_up_and_loses_nothing(place: StreamPlace) -> None:
    seen, refusals = Seen(), iter(range(2))

    async def deliver(record: Record) -> None:
        if next(refusals, None) is not None:
            raise ServerUnavailable("documents_unavailable", "away")
        await seen(record)

    await send(place, range(4))
    streams = Supervised(place, deliver)
    await seen.all_of(range(4))
    await streams.stop()


async def test_an_error_nobody_expected_ends_the_streams(place: StreamPlace) -> None:
    async def deliver(record: Record) -> None:
        raise LookupError("a defect")

    await send(place, range(1))
    streams = streams_of(place, deliver)
    with pytest.raises(StreamsFailed, match="a defect"):
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await streams.turn()


async def test_they_go_on_after_the_broker_was_killed_and_started_again(tmp_path: Path) -> None:
    broker = Broker.made(tmp_path / "kafka", find_kafka())
    seen, place = Seen(), a_place(broker.address, tmp_path)
    with broker.running():
        await send(place, range(5))
        streams = Supervised(place, seen)
        await seen.all_of(range(5))
    with broker.running():
        await send(place, range(5, 10))
        await seen.all_of(range(10))
        await streams.stop()
