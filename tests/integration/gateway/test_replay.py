"""Dead letters over real servers: replayed once their cause is mended, with one effect; or dead again."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pymongo import MongoClient

from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message
from easyloop.client import Client
from easyloop.errors import EasyLoopError
from easyloop.operation_answers import DeadLetter
from tests.integration.gateway.running import BUCKET, Running, running_gateway
from tests.integration.preprocess.pipeline import started
from tests.servers import LocalServers

SEEN_S = 90

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

T = TypeVar("T")


@pytest.fixture(scope="module")
def gateway(local_servers: LocalServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway, and ingest and preprocess beside it."""
    gateway_folder, folder = tmp_path_factory.mktemp("gateway"), tmp_path_factory.mktemp("services")
    with (
        running_gateway(local_servers, gateway_folder) as gateway,
        started(local_servers, folder, EASYLOOP_S3_BUCKET=BUCKET),
    ):
        yield gateway


def eventually(look: Callable[[], T | None]) -> T:
    """What `look` finds within the deadline."""
    deadline = time.monotonic() + SEEN_S
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.2)
    pytest.fail("it never came")


def letter_about(client: Client, service: str, key: str) -> DeadLetter:
    return eventually(lambda: next((one for one in client.dead_letters(service) if one.key == key), None))


def test_an_event_that_failed_for_good_is_handled_once_after_its_cause_was_mended(
    gateway: Running, tmp_path: Path
) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(b"no zip, but that is for later")
    with Client(gateway.platform) as client, MongoClient[dict[str, Any]](gateway.servers.mongo_uri) as mongo:
        datasets, imports = mongo["el_ingest"]["datasets"], mongo["el_ingest"]["imports"]
        dataset = client.create_dataset("fruit")
        missing = eventually(lambda: datasets.find_one_and_delete({"_id": dataset.id}))
        imported = client.upload(dataset.id, archive)

        letter = letter_about(client, "ingest", dataset.id)
        assert letter.failure.code == "dataset_unknown"
        detail = client.dead_letter(letter.id)
        assert isinstance(detail.data, dict)
        assert (detail.data["import_id"], detail.obstacle) == (imported.id, None)

        client.replay(letter.id, actor="ann")
        assert client.wait_for_replay(letter).status == "dead", "nothing was mended yet"
        datasets.insert_one(missing)
        again = client.dead_letter(letter.id)
        client.replay(letter.id, actor="ann")
        assert client.wait_for_replay(again).status == "done"
        with pytest.raises(EasyLoopError, match="was handled since"):
            client.replay(letter.id)
        assert [row["_id"] for row in imports.find({"dataset_id": dataset.id})] == [imported.id]
        eventually(lambda: imports.find_one({"_id": imported.id, "status": "rejected"}))


async def test_what_is_no_event_is_dead_again_in_every_service_that_reads_its_topic(gateway: Running) -> None:
    key = "not/an/event of anyone"
    producer = KafkaProducer(gateway.servers.kafka, "test")
    await producer.send_all([Message("ingest.events", key.encode(), b"hello", ())])
    await producer.close()
    with Client(gateway.platform) as client:
        for service in ("preprocess", "gateway"):
            letter = letter_about(client, service, key)
            client.replay(letter.id)
            after = client.wait_for_replay(letter)
            assert (after.status, after.replays, after.failure.code) == ("dead", 1, "malformed_event")
            assert after.data == "hello"
