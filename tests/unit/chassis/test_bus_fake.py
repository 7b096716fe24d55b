"""What only the fake bus has: it can be taken away and looked into."""

import asyncio

import pytest

from chassis.bus.fake import FakeBus, FakeConsumer, FakeProducer
from chassis.bus.ports import Message
from chassis.errors import ServerUnavailable

MESSAGE = Message("t", b"k", b"v", ())


async def test_a_bus_that_does_not_answer_says_so() -> None:
    bus = FakeBus()
    producer, consumer = FakeProducer(bus), FakeConsumer(bus, "g", ["t"])
    await producer.send_all([MESSAGE])
    records = await consumer.poll(0)
    bus.answering = False

    with pytest.raises(ServerUnavailable):
        await producer.send_all([MESSAGE])
    with pytest.raises(ServerUnavailable):
        await consumer.poll(0)
    with pytest.raises(ServerUnavailable):
        await consumer.commit(records)
    assert len(bus.records("t")) == len(producer.sent) == 1


async def test_what_was_committed_can_be_seen() -> None:
    bus = FakeBus(partitions=1)
    consumer = FakeConsumer(bus, "g", ["t"])
    await FakeProducer(bus).send_all([MESSAGE, MESSAGE])

    await consumer.commit(await consumer.poll(0))

    assert bus.committed["g"] == {("t", 0): 2}


async def test_a_message_wakes_a_reader_that_waits() -> None:
    bus = FakeBus()
    polling = asyncio.create_task(FakeConsumer(bus, "g", ["t"]).poll(30))
    await asyncio.sleep(0)

    await FakeProducer(bus).send_all([MESSAGE])

    assert [record.value for record in await polling] == [b"v"]
