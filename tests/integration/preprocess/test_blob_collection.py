"""The collector as ingest runs it, on real servers: an orphan goes, everything of an import stays."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from chassis.blobs.s3_sessions import S3UploadSessions
from chassis.bus.admin import create_topics
from chassis.documents.ports import Document
from chassis.topics import load_topics
from infra.local.bus import find_kafka
from tests.integration.preprocess.pipeline import BUCKET, PATIENCE_S, Pipeline, bucket, started
from tests.integration.preprocess.test_pipeline import an_archive
from tests.servers import LocalServers, run_servers

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

COUNT = 30


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[LocalServers]:
    """Servers of its own: beside the documents of other tests, which lie in other buckets, nothing is collected."""
    folder = tmp_path / "servers"
    folder.mkdir()
    with run_servers(folder, find_kafka()) as servers:
        yield servers


async def collected(pipeline: Pipeline, removed: int) -> Document:
    """What a look that removed so much, or failed, wrote down."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            latest = await pipeline.ingest.get("blob_collection", "latest")
            if latest is not None and (latest["removed"] >= removed or latest["failure"]):
                return latest
            await asyncio.sleep(0.1)


async def test_orphans_go_and_an_import_stays_whole(servers: LocalServers, tmp_path: Path) -> None:
    await create_topics(servers.kafka, load_topics())
    blobs = bucket(servers)
    sessions = S3UploadSessions(servers.s3_endpoint, servers.s3_access_key, servers.s3_secret_key, BUCKET)
    archive = an_archive(tmp_path, COUNT)
    with started(servers, tmp_path) as pipeline:
        version = await pipeline.ended(await pipeline.request_import(archive, "ds_1"))
    assert version["sample_count"] == COUNT
    uploaded = {entry.key for entry in blobs.entries("projects/") if entry.size == archive.stat().st_size}
    before = set(blobs.keys("projects/"))
    blobs.put("prj_default", b"nobody knows me", "text/plain")
    sessions.open("projects/prj_default/uploads/upl_lost", "application/zip")
    soon = {"EASYLOOP_BLOB_GRACE_S": "1", "EASYLOOP_BLOB_COLLECTION_INTERVAL_S": "1"}
    with started(servers, tmp_path, **soon) as pipeline:
        latest = await collected(pipeline, removed=2)
    assert (latest["failure"], latest["removed"], latest["aborted"]) == (None, 2, 1)
    # The archive goes too: the gateway, which keeps the request for it, has no part in this test.
    assert set(blobs.keys("projects/")) == before - uploaded
    assert list(sessions.opened("projects/")) == []
