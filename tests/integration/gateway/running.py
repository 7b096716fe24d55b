"""A gateway process over real servers."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from chassis.blobs.s3 import S3BlobStore
from chassis.bus.admin import create_topics
from chassis.topics import load_topics
from easyloop.discovery import Platform
from infra.local.ports import choose_ports
from tests.servers import LocalServers

KEY = "elk_integration_key"
BUCKET = "gateway-test"
READY_S = 90


@dataclass(frozen=True)
class Running:
    """A gateway that answers."""

    process: subprocess.Popen[bytes]
    platform: Platform
    blobs: S3BlobStore
    servers: LocalServers
    data_dir: Path


@contextmanager
def running_gateway(servers: LocalServers, data_dir: Path, **settings: str) -> Iterator[Running]:
    """Started with these settings beside the usual ones; killed at the end."""
    asyncio.run(create_topics(servers.kafka, load_topics()))
    blobs = S3BlobStore(servers.s3_endpoint, servers.s3_access_key, servers.s3_secret_key, BUCKET)
    blobs.ensure_bucket()
    port = choose_ports({"gateway": 0}, {}, frozenset())["gateway"]
    usual = {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": servers.kafka,
        "EASYLOOP_MONGO_URI": servers.mongo_uri,
        "EASYLOOP_S3_ENDPOINT": servers.s3_endpoint,
        "EASYLOOP_S3_ACCESS_KEY": servers.s3_access_key,
        "EASYLOOP_S3_SECRET_KEY": servers.s3_secret_key,
        "EASYLOOP_S3_BUCKET": BUCKET,
        "EASYLOOP_DATA_DIR": str(data_dir),
        "EASYLOOP_ADMIN_KEY": KEY,
        "EASYLOOP_GATEWAY_PORT": str(port),
    }
    command = [sys.executable, "-m", "services.gateway.main"]
    process = subprocess.Popen(command, env={**os.environ, **usual, **settings}, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process)
        yield Running(process, Platform(url, KEY), blobs, servers, data_dir)
    finally:
        process.kill()
        process.wait()


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
