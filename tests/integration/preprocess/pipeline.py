"""Ingest and preprocess as processes of their own on real servers, and someone who asks them for imports."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chassis.blobs.s3 import S3BlobStore
from chassis.bus.cloudevents import encode
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message
from chassis.clock import SystemClock, rfc3339
from chassis.documents import mongo
from chassis.documents.mongo import MongoDatabase
from chassis.documents.ports import Document
from chassis.ids import UlidIds
from schemas.base import Event
from schemas.requests import DatasetRequested, ImportRequested
from tests.servers import LocalServers

LOOK_S = 0.1
PATIENCE_S = 150
STOP_S = 30


@dataclass
class Process:
    """A service under the simplest of supervisors: `keep` starts it again after it failed."""

    module: str
    environment: dict[str, str]
    log: Path
    starts: int = 0
    child: subprocess.Popen[bytes] | None = None

    def keep(self) -> None:
        """Start it unless it runs."""
        if self.child is None or self.child.poll() is not None:
            with self.log.open("ab") as output:
                self.child = subprocess.Popen(
                    [sys.executable, "-m", self.module],
                    env={**os.environ, **self.environment},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # a failpoint kills the whole group
                )
            self.starts += 1

    def kill(self) -> None:
        """SIGKILL, as a machine that loses its power."""
        if self.child is not None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        if self.child is None:
            return 0
        self.child.terminate()
        return self.child.wait(STOP_S)


@dataclass(frozen=True)
class Pipeline:
    """The two services and the means of the gateway. `documents` is the database of preprocess."""

    processes: tuple[Process, ...]
    blobs: S3BlobStore
    producer: KafkaProducer
    ingest: MongoDatabase
    documents: MongoDatabase

    async def request_import(self, archive: Path, dataset_id: str) -> str:
        """Upload and ask as the gateway does; the id of the version it becomes when it is the first."""
        blob = await asyncio.to_thread(self.blobs.put_file, "prj_default", archive, "application/zip")
        dataset = DatasetRequested(dataset_id=dataset_id, name="test", task="image_classification", auto_train="off")
        wanted = ImportRequested(
            dataset_id=dataset_id, import_id=UlidIds().new("imp"), archive=blob, file_name=archive.name
        )
        await self.producer.send_all([_message(dataset, 1), _message(wanted, 2)])
        return f"{dataset_id}/1"

    async def ended(self, version: str) -> Document:
        """The version once it is ready or rejected; services that died meanwhile are started again."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self._supervise()
                found = await self.documents.get("versions", version)
                if found is not None and found["status"] != "open":
                    return found
                await asyncio.sleep(LOOK_S)

    async def first_chunk(self, version: str) -> None:
        """Returns once a chunk of the version was read."""
        async with asyncio.timeout(PATIENCE_S):
            while not await self.documents.find("chunks", {"dataset_version": version}):
                self._supervise()
                await asyncio.sleep(LOOK_S)

    def _supervise(self) -> None:
        for process in self.processes:
            process.keep()


@contextmanager
def started(servers: LocalServers, folder: Path, failpoints: str = "", **settings: str) -> Iterator[Pipeline]:
    """Both services running, with these settings besides; stopped at the end. Topics and bucket must be there."""
    environment = {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": servers.kafka,
        "EASYLOOP_MONGO_URI": servers.mongo_uri,
        "EASYLOOP_S3_ENDPOINT": servers.s3_endpoint,
        "EASYLOOP_S3_ACCESS_KEY": servers.s3_access_key,
        "EASYLOOP_S3_SECRET_KEY": servers.s3_secret_key,
        "EASYLOOP_S3_BUCKET": BUCKET,
        "EASYLOOP_DATA_DIR": str(folder),
        "EASYLOOP_FAILPOINTS": failpoints,
        **settings,
    }
    names = ("ingest", "preprocess")
    processes = tuple(Process(f"services.{name}.main", environment, folder / f"{name}.log") for name in names)
    client = mongo.connect(servers.mongo_uri)
    try:
        for process in processes:
            process.keep()
        yield Pipeline(
            processes,
            bucket(servers),
            KafkaProducer(servers.kafka, "test-gateway"),
            MongoDatabase(client, "el_ingest"),
            MongoDatabase(client, "el_preprocess"),
        )
    finally:
        for process in processes:
            process.stop()


BUCKET = "pipeline"


def bucket(servers: LocalServers) -> S3BlobStore:
    """The object store, its bucket made."""
    blobs = S3BlobStore(servers.s3_endpoint, servers.s3_access_key, servers.s3_secret_key, BUCKET, secure=False)
    blobs.ensure_bucket()
    return blobs


def _message(event: Event, rev: int) -> Message:
    key, value, headers = encode(
        event,
        event_id=UlidIds().new("evt"),
        source="/easyloop/test",
        time=rfc3339(SystemClock().now()),
        rev=rev,
        traceparent=None,
    )
    return Message("gateway.requests", key, value, headers)
