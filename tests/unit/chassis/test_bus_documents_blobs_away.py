"""Clients of servers that are not there: they say so, soon, in the words of the ports."""

import socket
from collections.abc import Iterator

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.s3 import S3BlobStore
from chassis.bus.admin import create_topics, ping
from chassis.bus.kafka_consumer import KafkaConsumer, WholeTopicsConsumer
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message
from chassis.documents.mongo import MongoDatabase, connect
from chassis.errors import ServerUnavailable
from chassis.topics import TopicCatalog


@pytest.fixture
def nowhere() -> Iterator[str]:
    """host:port at which nobody listens, kept from others meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


async def test_the_bus(nowhere: str) -> None:
    producer = KafkaProducer(nowhere, "away")
    with pytest.raises(ServerUnavailable, match=nowhere):
        await producer.send_all([Message("t", b"k", b"v", ())])
    for kind in (KafkaConsumer, WholeTopicsConsumer):
        reader = kind(nowhere, "g", ["t"], client_id="away")
        with pytest.raises(ServerUnavailable, match=nowhere):
            await reader.poll(1)
        await reader.close()
    await producer.close()
    with pytest.raises(ServerUnavailable, match=nowhere):
        await ping(nowhere)
    with pytest.raises(ServerUnavailable, match=nowhere):
        await create_topics(nowhere, TopicCatalog(()))


async def test_the_document_store(nowhere: str) -> None:
    uri = f"mongodb://{nowhere}/?directConnection=true"
    database = MongoDatabase(connect(uri, server_selection_ms=200), "away")

    async def write() -> None:
        async with database.transaction() as tx:
            await tx.insert("rows", {"_id": "a"})

    with pytest.raises(ServerUnavailable, match=nowhere):
        await database.ping()
    with pytest.raises(ServerUnavailable, match=nowhere):
        await database.get("rows", "a")
    with pytest.raises(ServerUnavailable, match=nowhere):
        await write()
    await database.close()


def test_the_blob_store(nowhere: str) -> None:
    store = S3BlobStore(nowhere, "key", "secret", "bucket")

    with pytest.raises(ServerUnavailable, match="does not answer"):
        store.ping()
    with pytest.raises(ServerUnavailable, match="does not answer"):
        store.put("prj_1", b"x", "text/plain")


def test_the_fake_blob_store() -> None:
    store = FakeBlobStore()
    ref = store.put("prj_1", b"x", "text/plain")
    store.answering = False

    with pytest.raises(ServerUnavailable):
        store.get(ref)
    with pytest.raises(ServerUnavailable):
        store.ping()
