"""A reader that was there before its topics, and whose group takes longer to answer than a poll: it reads them all."""

import asyncio
from contextlib import suppress
from pathlib import Path

from chassis.bus.admin import create_topics
from chassis.bus.kafka_consumer import KafkaConsumer
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message, Record
from chassis.errors import ServerUnavailable
from chassis.topics import Topic, TopicCatalog
from infra.local.bus import find_kafka
from tests.integration.broker import Broker

TOPIC = "early.events"
PATIENCE_S = 60
SHORTER_THAN_JOINING_S = 0.002


async def test_a_reader_before_its_topics_reads_them_though_joining_takes_many_polls(tmp_path: Path) -> None:
    broker = Broker.made(tmp_path / "kafka", find_kafka())
    with broker.running():
        reader = KafkaConsumer(broker.address, "early", [TOPIC], client_id="early")
        producer = KafkaProducer(broker.address, "early")
        try:
            for _ in range(6):  # a member, of nothing so far
                assert await reader.poll(0.5) == []
            await create_topics(broker.address, TopicCatalog((Topic(TOPIC, "early", "id", 4, 1, (), ()),)))
            await producer.send_all([Message(TOPIC, b"key", b"value", ())])
            records: list[Record] = []
            async with asyncio.timeout(PATIENCE_S):
                while not records:
                    with suppress(ServerUnavailable):
                        records = await reader.poll(SHORTER_THAN_JOINING_S)
            assert [record.value for record in records] == [b"value"]
        finally:
            await reader.close()
            await producer.close()
