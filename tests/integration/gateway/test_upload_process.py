"""An upload in parts over real servers: the gateway is killed in the middle, and nothing that arrived is lost."""

import hashlib
import os
import time
from pathlib import Path

from easyloop.client import Client
from schemas.requests import ImportRequested
from tests.integration.gateway.running import running_gateway
from tests.servers import LocalServers

SIZE = 40_000_000
HASHED_S = 60


def test_what_arrived_outlives_the_gateway(local_servers: LocalServers, tmp_path: Path) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(os.urandom(SIZE))
    with running_gateway(local_servers, tmp_path / "first") as gateway, Client(gateway.platform) as client:
        dataset = client.create_dataset("fruit")
        upload = client.uploads.begin(dataset.id, archive)
        with archive.open("rb") as file:
            client.uploads.send_part(upload, 1, file.read(upload.part_size), lambda _: None)
    with running_gateway(local_servers, tmp_path / "second") as gateway, Client(gateway.platform) as client:
        again = client.uploads.get(upload.id)
        assert (again.arrived, again.part_count) == ({1}, 3)
        sent: list[int] = []
        imported = client.uploads.send_parts(again, archive, sent.append)
        assert (sent[0], sent[-1]) == (upload.part_size, SIZE)
        deadline = time.monotonic() + HASHED_S
        while client.imported(dataset.id, imported.id).sha256 is None:
            assert time.monotonic() < deadline, "the parts are never put together"
            time.sleep(0.2)
        event = next(event for event in client.events(0, [ImportRequested.TYPE]) if event.key == dataset.id)
        blob = ImportRequested.model_validate(event.data).archive
        assert gateway.blobs.get(blob) == archive.read_bytes()
        assert blob.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
        assert not list((gateway.data_dir / "scratch").glob("upload-*"))
