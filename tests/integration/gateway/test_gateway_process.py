"""The gateway as a process over real servers: asked by the real client, watched over real streams, stopped."""

import hashlib
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from pymongo import MongoClient

from chassis.ids import UlidIds
from chassis.relay import BEFORE_SENDING
from easyloop.client import Client
from easyloop.discovery import Platform
from easyloop.errors import EasyLoopError
from schemas.requests import DatasetRequested, ImportRequested
from schemas.serving import ModelDeployFailed
from tests.integration.gateway.running import Running, running_gateway
from tests.servers import LocalServers

STOP_S = 20


@pytest.fixture
def gateway(local_servers: LocalServers, tmp_path: Path) -> Iterator[Running]:
    with running_gateway(local_servers, tmp_path) as gateway:
        yield gateway


def test_what_is_asked_comes_back_over_the_bus_and_the_process_stops_with_a_stream_open(
    gateway: Running, tmp_path: Path
) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(os.urandom(8_000_000))
    with Client(gateway.platform) as client:
        dataset = client.create_dataset("fruit")
        imported = client.upload(dataset.id, archive)
        wanted = (DatasetRequested.TYPE, ImportRequested.TYPE)
        own = (event for event in client.events(0, wanted) if event.data["dataset_id"] == dataset.id)
        first, second = next(own), next(own)
        assert (first.type, second.type) == wanted
        blob = ImportRequested.model_validate(second.data).archive
        assert hashlib.sha256(gateway.blobs.get(blob)).hexdigest() == imported.sha256
        assert not list((gateway.data_dir / "scratch").iterdir())

        streaming = threading.Event()
        reader = threading.Thread(target=_read_until_it_ends, args=(gateway.platform, streaming), daemon=True)
        reader.start()
        assert streaming.wait(10)
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(STOP_S) == 0


def test_what_a_killed_process_had_stored_but_not_sent_is_sent_by_the_next(
    local_servers: LocalServers, tmp_path: Path
) -> None:
    name, kill = f"unsent {uuid.uuid4().hex}", f"{BEFORE_SENDING}=kill_once"
    with running_gateway(local_servers, tmp_path, EASYLOOP_FAILPOINTS=kill) as dying:
        with Client(dying.platform) as client, suppress(EasyLoopError):  # it may die before its answer has left
            client.create_dataset(name)
        assert dying.process.wait(STOP_S) == -signal.SIGKILL
    with running_gateway(local_servers, tmp_path) as next_one, Client(next_one.platform) as client:
        requested = client.events(0, [DatasetRequested.TYPE])
        assert next(event for event in requested if event.data["name"] == name)


def _read_until_it_ends(platform: Platform, streaming: threading.Event) -> None:
    headers = {"Authorization": f"Bearer {platform.key}", "Accept": "text/event-stream"}
    with httpx.stream("GET", f"{platform.url}/v1/events", headers=headers, timeout=60) as answer:
        for _ in answer.iter_lines():
            streaming.set()


def test_a_bundle_that_cannot_be_loaded_is_announced_over_the_bus(gateway: Running) -> None:
    model_id = UlidIds().new("mdl")
    bundle = gateway.blobs.put("prj_default", b"no zip", "application/zip").model_dump()
    with MongoClient[dict[str, object]](gateway.servers.mongo_uri) as mongo:
        registry = mongo["el_registry"]
        registry["models"].insert_one({"_id": model_id, "dataset_id": "ds_1", "task": "image_classification"})
        registry["model_versions"].insert_one({"_id": f"{model_id}/1", "model_id": model_id, "bundle": bundle})
        alias = {"_id": f"{model_id}/production", "model_id": model_id, "alias": "production", "version": 1}
        registry["aliases"].insert_one(alias)
        with Client(gateway.platform) as client:
            events = client.events(0, [ModelDeployFailed.TYPE])
            failed = next(event for event in events if event.key == model_id)
        registry["aliases"].delete_one({"_id": alias["_id"]})
    assert failed.data["failure"]["code"] == "bundle_invalid"
