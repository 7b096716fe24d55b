"""Archives through both services on real servers: whole, once, whatever is killed on the way."""

import io
import random
import signal
import uuid
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from chassis.bus.admin import create_topics
from chassis.documents.ports import Document
from chassis.manifests import read_manifest, read_rejections
from chassis.topics import load_topics
from chassis.unit_of_work import OUTBOX
from infra.local.bus import find_kafka
from schemas.base import BlobRef
from services.ingest.import_job import AFTER_CHUNK
from tests.integration.broker import Broker
from tests.integration.preprocess.pipeline import Pipeline, bucket, started
from tests.servers import LocalServers

pytestmark = pytest.mark.timeout(400)

CHUNK = 200


def a_picture(seed: int) -> bytes:
    target = io.BytesIO()
    Image.frombytes("RGB", (16, 16), random.Random(seed).randbytes(768)).save(target, "PNG")
    return target.getvalue()


def an_archive(folder: Path, count: int) -> Path:
    """`count` pictures of two classes, and three files that are of no use."""
    path = folder / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(count):
            archive.writestr(f"photos/{('cat', 'dog')[number % 2]}/{number:05}.png", a_picture(number))
        archive.writestr("photos/cat/broken.png", a_picture(0)[:60])
        archive.writestr("photos/dog/twice.png", a_picture(1))
        archive.writestr("photos/readme.txt", b"hello")
    return path


async def check_whole(pipeline: Pipeline, version: Document, count: int) -> None:
    """Everything that can be used is there once, and it was announced once."""
    assert (version["status"], version["sample_count"], version["rejected_count"]) == ("ready", count, 3)
    manifest = read_manifest(pipeline.blobs.get(BlobRef.model_validate(version["manifest"])))
    assert len({sample.blob.sha256 for sample in manifest.samples}) == count
    rejections = read_rejections(pipeline.blobs.get(BlobRef.model_validate(version["rejections"])))
    assert {(refusal.name.split("/")[-1], refusal.code) for refusal in rejections} == {
        ("broken.png", "truncated_image"),
        ("twice.png", "duplicate"),
        ("readme.txt", "unsupported_file"),
    }
    announced = await pipeline.documents.find(OUTBOX, {"key": version["dataset_id"]})
    assert [row["type"] for row in announced] == ["easyloop.dataset.version.ready.v1"]
    chunks = (count + 2 + CHUNK - 1) // CHUNK
    for number in range(chunks):
        for database in (pipeline.ingest, pipeline.documents):
            assert len(await database.find(OUTBOX, {"key": f"{version['_id']}/{number}"})) == 1


@pytest.fixture
async def servers(local_servers: LocalServers) -> LocalServers:
    """With topics and bucket."""
    await create_topics(local_servers.kafka, load_topics())
    bucket(local_servers)
    return local_servers


@pytest.fixture
def dataset_id() -> str:
    return f"ds_{uuid.uuid4().hex}"


async def test_an_archive_becomes_a_version_and_the_services_stop_cleanly(
    servers: LocalServers, tmp_path: Path, dataset_id: str
) -> None:
    with started(servers, tmp_path) as pipeline:
        version = await pipeline.request_import(an_archive(tmp_path, 60), dataset_id)
        await check_whole(pipeline, await pipeline.ended(version), 60)
        assert [process.stop() for process in pipeline.processes] == [0, 0]
        assert [process.starts for process in pipeline.processes] == [1, 1]


async def test_an_import_killed_after_its_first_chunk_and_a_killed_preprocess_lose_and_double_nothing(
    servers: LocalServers, tmp_path: Path, dataset_id: str
) -> None:
    with started(servers, tmp_path, failpoints=f"{AFTER_CHUNK}=kill_once") as pipeline:
        version = await pipeline.request_import(an_archive(tmp_path, 3 * CHUNK), dataset_id)
        await pipeline.first_chunk(version)
        pipeline.processes[1].kill()
        await check_whole(pipeline, await pipeline.ended(version), 3 * CHUNK)
        assert [process.starts for process in pipeline.processes] == [2, 2]


@pytest.mark.slow
async def test_a_bus_that_lost_everything_in_the_middle_of_an_import_loses_and_doubles_nothing(
    servers: LocalServers, tmp_path: Path, dataset_id: str
) -> None:
    broker = Broker.made(tmp_path / "bus", find_kafka())
    with started(replace(servers, kafka=broker.address), tmp_path) as pipeline:
        with broker.running():
            await create_topics(broker.address, load_topics())
            version = await pipeline.request_import(an_archive(tmp_path, 3 * CHUNK), dataset_id)
            await pipeline.first_chunk(version)
        broker.lose_everything()
        with broker.running():
            await check_whole(pipeline, await pipeline.ended(version), 3 * CHUNK)
            # The streams end with their cluster, and a service that starts afresh does not listen to SIGTERM yet.
            assert {process.stop() for process in pipeline.processes} <= {0, -signal.SIGTERM}
