"""The gateway as a process over real servers: asked by the real client, watched over real streams, stopped."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from pymongo import MongoClient

from chassis.blobs.s3 import S3BlobStore
from chassis.bus.admin import create_topics
from chassis.ids import UlidIds
from chassis.topics import load_topics
from easyloop.client import Client
from easyloop.discovery import Platform
from infra.local.ports import choose_ports
from schemas.requests import DatasetRequested, ImportRequested
from schemas.serving import ModelDeployFailed
from tests.servers import LocalServers

KEY = "elk_integration_key"
BUCKET = "gateway-test"
READY_S = 90
STOP_S = 20


@dataclass(frozen=True)
class Running:
    """A gateway that answers."""

    process: subprocess.Popen[bytes]
    platform: Platform
    blobs: S3BlobStore
    servers: LocalServers
    data_dir: Path


@pytest.fixture
async def gateway(local_servers: LocalServers, tmp_path: Path) -> AsyncIterator[Running]:
    await create_topics(local_servers.kafka, load_topics())
    keys = (local_servers.s3_access_key, local_servers.s3_secret_key)
    blobs = S3BlobStore(local_servers.s3_endpoint, *keys, BUCKET)
    blobs.ensure_bucket()
    port = choose_ports({"gateway": 0}, {}, frozenset())["gateway"]
    settings = {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": local_servers.kafka,
        "EASYLOOP_MONGO_URI": local_servers.mongo_uri,
        "EASYLOOP_S3_ENDPOINT": local_servers.s3_endpoint,
        "EASYLOOP_S3_ACCESS_KEY": keys[0],
        "EASYLOOP_S3_SECRET_KEY": keys[1],
        "EASYLOOP_S3_BUCKET": BUCKET,
        "EASYLOOP_DATA_DIR": str(tmp_path),
        "EASYLOOP_ADMIN_KEY": KEY,
        "EASYLOOP_GATEWAY_PORT": str(port),
    }
    process = _start({**os.environ, **settings})
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process)
        yield Running(process, Platform(url, KEY), blobs, local_servers, tmp_path)
    finally:
        process.kill()
        process.wait()


def _start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "services.gateway.main"]
    return subprocess.Popen(command, env=environment)


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the gateway ended by itself"
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail("the gateway did not become ready")


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
