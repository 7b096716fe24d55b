"""The setup against real servers, run as the container runs it."""

import os
import subprocess
import sys
import uuid

from chassis.blobs.s3 import S3BlobStore
from chassis.bus.admin import create_topics
from chassis.topics import load_topics
from infra.local.layout import REPOSITORY
from tests.servers import LocalServers

PATIENCE_S = 120


def run_setup(servers: LocalServers, bucket: str) -> None:
    settings = {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": servers.kafka,
        "EASYLOOP_MONGO_URI": servers.mongo_uri,
        "EASYLOOP_S3_ENDPOINT": servers.s3_endpoint,
        "EASYLOOP_S3_ACCESS_KEY": servers.s3_access_key,
        "EASYLOOP_S3_SECRET_KEY": servers.s3_secret_key,
        "EASYLOOP_S3_BUCKET": bucket,
    }
    answer = subprocess.run(
        [sys.executable, "-m", "infra.setup"],
        cwd=REPOSITORY,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr


async def test_topics_and_bucket_are_there_afterwards_and_a_second_run_is_harmless(local_servers: LocalServers) -> None:
    bucket = f"setup-{uuid.uuid4().hex[:12]}"
    run_setup(local_servers, bucket)
    run_setup(local_servers, bucket)
    assert await create_topics(local_servers.kafka, load_topics()) == []
    keys = (local_servers.s3_access_key, local_servers.s3_secret_key)
    S3BlobStore(local_servers.s3_endpoint, *keys, bucket).ping()
