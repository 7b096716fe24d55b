"""Receiving archives."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from schemas.requests import ImportRequested
from tests.builders import emitted
from tests.unit.gateway.building import T0, Gateway, is_problem

ZIP = b"PK" + bytes(range(256)) * 1000


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path, settings_changes={"upload_max_bytes": 1_000_000})
    await gateway.has_dataset()
    return gateway


def nothing_is_left(gateway: Gateway) -> bool:
    scratch = gateway.settings.scratch_dir
    return not scratch.exists() or not list(scratch.iterdir())


async def test_a_raw_body_becomes_a_blob_and_a_request(gateway: Gateway) -> None:
    async with gateway.client() as client:
        made = await client.post("/v1/datasets/ds_1/imports", params={"file_name": "fruit.zip"}, content=ZIP)
        found = await client.get(made.headers["location"])
    assert made.status_code == 202
    assert found.json() == made.json()
    digest = hashlib.sha256(ZIP).hexdigest()
    assert (made.json()["sha256"], made.json()["size"], made.json()["status"]) == (digest, len(ZIP), "requested")
    [event] = await emitted(gateway.deps)
    assert isinstance(event, ImportRequested)
    assert (event.import_id, event.file_name, event.dataset_id) == (made.json()["id"], "fruit.zip", "ds_1")
    assert gateway.blobs.get(event.archive) == ZIP
    assert nothing_is_left(gateway)


async def test_a_form_is_taken_too_with_its_file_name(gateway: Gateway) -> None:
    async with gateway.client() as client:
        files = [("note", (None, b"hello", None)), ("file", ("水果.zip", ZIP, "application/zip"))]
        made = await client.post("/v1/datasets/ds_1/imports", files=files)
    assert (made.json()["file_name"], made.json()["sha256"]) == ("水果.zip", hashlib.sha256(ZIP).hexdigest())


async def test_the_owners_record_is_merged(gateway: Gateway) -> None:
    async with gateway.client() as client:
        made = (await client.post("/v1/datasets/ds_1/imports", content=ZIP)).json()
        row = {"_id": made["id"], "dataset_id": "ds_1", "file_name": "archive.zip", "created_at": T0}
        await gateway.ingest.put("imports", {**row, "status": "accepted", "version": 1})
        found = (await client.get(f"/v1/datasets/ds_1/imports/{made['id']}")).json()
    assert (found["status"], found["version"], found["sha256"]) == ("accepted", 1, made["sha256"])


async def test_the_same_upload_under_one_key_is_one_import(gateway: Gateway) -> None:
    headers = {"Idempotency-Key": "k1"}
    async with gateway.client() as client:
        first = await client.post("/v1/datasets/ds_1/imports", content=ZIP, headers=headers)
        again = await client.post("/v1/datasets/ds_1/imports", content=ZIP, headers=headers)
        other = await client.post("/v1/datasets/ds_1/imports", content=ZIP + b"x", headers=headers)
    assert first.json() == again.json()
    assert is_problem(other, 422, "idempotency_key_reused")
    assert len(await emitted(gateway.deps)) == 1


async def test_what_is_no_archive_is_refused_and_leaves_nothing(gateway: Gateway) -> None:
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    address = "/v1/datasets/ds_1/imports"
    async with gateway.client() as client:
        assert is_problem(await client.post(address, content=b""), 422, "empty_archive")
        assert is_problem(await client.post(address, files={"other": b"x"}), 422, "file_missing")
        assert is_problem(await client.post(address, content=b"no form", headers=form), 400, "multipart_invalid")
        cut = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf'
        assert is_problem(await client.post(address, content=cut, headers=form), 400, "multipart_invalid")
        assert is_problem(await client.post("/v1/datasets/ds_9/imports", content=ZIP), 404, "dataset_unknown")
        assert is_problem(await client.get(f"{address}/imp_9"), 404, "import_unknown")
    assert nothing_is_left(gateway)
    assert await emitted(gateway.deps) == []


@pytest.mark.parametrize("announced", [True, False])
async def test_too_large_is_413(gateway: Gateway, announced: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(65536)

    async with gateway.client() as client:
        content = bytes(1_200_000) if announced else pieces()
        answer = await client.post("/v1/datasets/ds_1/imports", content=content)
    assert is_problem(answer, 413, "archive_too_large")
    assert nothing_is_left(gateway)


async def test_a_lost_object_store_leaves_no_request_behind(gateway: Gateway) -> None:
    gateway.blobs.answering = False
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets/ds_1/imports", content=ZIP)
    assert answer.status_code == 503
    assert nothing_is_left(gateway)
    assert await emitted(gateway.deps) == []
