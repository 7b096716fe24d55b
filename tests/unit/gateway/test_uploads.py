"""Uploads in parts: each part checked, nothing lost when either side restarts, one import in the end."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chassis.errors import PermanentError
from chassis.jobs import Job
from chassis.records import Repository
from schemas.base import Failure
from schemas.deletion import DatasetDeleted, DatasetDeleteRequested
from schemas.requests import ImportRequested
from services.gateway.completing import JOB_KINDS
from services.gateway.expiring import expire_uploads
from services.gateway.handlers import archive_and_forget_dataset
from services.gateway.upload_job import UploadJob
from services.gateway.uploads import PART_BYTES, Upload, in_words, part_size_of
from tests.builders import delivered, emitted
from tests.unit.gateway.building import Gateway, is_problem

PART = bytes(range(256)) * (PART_BYTES // 256)
LAST = b"the end"
FILE = PART + PART[::-1] + LAST
NEW = {"file_name": "fruit.zip", "size": len(FILE), "label": "apple"}
RAW = {"Content-Type": "application/octet-stream"}
(KIND,) = JOB_KINDS


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path, settings_changes={"upload_idle_s": 0.5, "upload_max_bytes": 100_000_000})
    await gateway.has_dataset()
    return gateway


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway.client() as client:
        yield client


@pytest.fixture
async def upload(client: httpx.AsyncClient) -> str:
    """The address of an upload of three parts."""
    answer = await client.post("/v1/datasets/ds_1/uploads", json=NEW)
    assert answer.status_code == 201
    return str(answer.headers["location"])


async def send(client: httpx.AsyncClient, upload: str, number: int, content: bytes, **headers: str) -> httpx.Response:
    return await client.put(f"{upload}/parts/{number}", content=content, headers={**RAW, **headers})


async def send_all(client: httpx.AsyncClient, upload: str) -> None:
    for number, content in ((3, LAST), (1, PART), (2, PART[::-1])):
        assert (await send(client, upload, number, content)).status_code == 200


async def run_job(gateway: Gateway) -> None:
    """What the worker does with the one job that is queued."""
    [job] = await Repository(gateway.database, Job).find({"status": "queued"})
    try:
        result = UploadJob(gateway.sessions, patience_s=0).run(job.args)
    except PermanentError as error:
        async with gateway.deps.unit_of_work() as tx:
            await KIND.on_failure(job, Failure(code=error.code, sentence=error.sentence), tx, gateway.deps)
    else:
        async with gateway.deps.unit_of_work() as tx:
            await KIND.on_result(job, result, tx, gateway.deps)
    await gateway.database.update(Job.COLLECTION, job.id, {"status": "done"})


async def test_parts_become_one_import_under_the_hash_of_the_whole(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    completed = await client.post(f"{upload}/complete")
    assert (completed.status_code, completed.json()["status"], completed.json()["sha256"]) == (202, "requested", None)
    assert await emitted(gateway.deps) == []
    await run_job(gateway)
    [event] = await emitted(gateway.deps)
    assert isinstance(event, ImportRequested)
    assert (event.import_id, event.label, event.file_name) == (completed.json()["id"], "apple", "fruit.zip")
    assert event.archive.sha256 == hashlib.sha256(FILE).hexdigest()
    assert gateway.blobs.get(event.archive) == FILE
    found = (await client.get(completed.headers["location"])).json()
    assert (found["status"], found["sha256"], found["size"]) == ("requested", event.archive.sha256, len(FILE))
    assert list(gateway.settings.scratch_dir.iterdir()) == []


async def test_what_arrived_is_shown_also_after_a_restart(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    sent = await send(client, upload, 3, LAST)
    assert sent.json() == {"number": 3, "size": len(LAST), "sha256": hashlib.sha256(LAST).hexdigest()}
    found = (await client.get(upload)).json()
    assert (found["part_size"], found["part_count"], found["status"]) == (PART_BYTES, 3, "open")
    assert [(part["number"], part["size"]) for part in found["parts"]] == [(3, len(LAST))]
    listed = (await client.get("/v1/datasets/ds_1/uploads")).json()["items"]
    assert [one["id"] for one in listed] == [found["id"]]


async def test_a_part_of_another_length_or_content_is_refused_and_keeps_the_old_one(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    async def pieces(content: bytes) -> AsyncIterator[bytes]:
        yield content

    await send(client, upload, 3, LAST)
    for content in (b"", b"short", LAST + b"longer"):
        assert is_problem(await send(client, upload, 3, content), 400, "part_length_wrong")
        unannounced = await client.put(f"{upload}/parts/3", content=pieces(content), headers=RAW)
        assert is_problem(unannounced, 400, "part_length_wrong")
    right = base64.b64encode(hashlib.sha256(LAST).digest()).decode()
    wrong = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    assert (await send(client, upload, 3, LAST, **{"Content-Digest": f"md5=:x:, sha-256=:{right}:"})).status_code == 200
    assert (await send(client, upload, 3, LAST, **{"Content-Digest": "sha-512=:eA==:"})).status_code == 200
    answer = await send(client, upload, 3, LAST, **{"Content-Digest": f"sha-256=:{wrong}:"})
    assert is_problem(answer, 400, "digest_wrong")
    for digest in ("sha-256", "sha-256=:zz:", "sha-256=:eA==:"):
        assert is_problem(await send(client, upload, 3, LAST, **{"Content-Digest": digest}), 400, "digest_invalid")
    assert [part["number"] for part in (await client.get(upload)).json()["parts"]] == [3]


async def test_a_part_sent_again_replaces_the_one_before(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send(client, upload, 3, b"THE END")
    await send_all(client, upload)
    await client.post(f"{upload}/complete")
    await run_job(gateway)
    [event] = await emitted(gateway.deps)
    assert isinstance(event, ImportRequested)
    assert event.archive.sha256 == hashlib.sha256(FILE).hexdigest()


async def test_an_upload_with_missing_parts_is_not_complete(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send(client, upload, 2, PART)
    answer = await client.post(f"{upload}/complete")
    assert is_problem(answer, 409, "parts_missing")
    assert "1, 3" in answer.json()["detail"]
    assert (await client.get(upload)).json()["status"] == "open"


async def test_completed_twice_also_at_once_it_is_one_import(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    answers = await asyncio.gather(*[client.post(f"{upload}/complete") for _ in range(4)])
    await run_job(gateway)
    answers.append(await client.post(f"{upload}/complete"))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(await emitted(gateway.deps)) == 1
    assert is_problem(await send(client, upload, 3, LAST), 409, "upload_completed")
    assert is_problem(await client.delete(upload), 409, "upload_completed")


async def test_the_job_goes_on_wherever_it_was_killed(gateway: Gateway, client: httpx.AsyncClient, upload: str) -> None:
    await send_all(client, upload)
    await client.post(f"{upload}/complete")
    [job] = await Repository(gateway.database, Job).find({})
    first = UploadJob(gateway.sessions, patience_s=0).run(job.args)
    assert UploadJob(gateway.sessions, patience_s=0).run(job.args) == first


async def test_lost_parts_reject_the_import_with_a_sentence(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    completed = await client.post(f"{upload}/complete")
    [stored] = await Repository(gateway.database, Upload).find({})
    gateway.sessions.abort(stored.session)
    await run_job(gateway)
    found = (await client.get(completed.headers["location"])).json()
    assert (found["status"], found["failure"]["code"]) == ("rejected", "upload_lost")
    assert await emitted(gateway.deps) == []


async def test_a_session_that_the_object_store_forgot_is_told(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    [stored] = await Repository(gateway.database, Upload).find({})
    gateway.sessions.abort(stored.session)
    assert is_problem(await send(client, upload, 3, LAST), 409, "upload_lost")


async def test_an_upload_that_is_given_up_is_gone_with_its_parts(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send(client, upload, 1, PART)
    assert (await client.delete(upload)).status_code == 204
    assert list(gateway.sessions.opened("")) == []
    for answer in (await client.delete(upload), await client.get(upload), await client.post(f"{upload}/complete")):
        assert is_problem(answer, 404, "upload_unknown")
    assert is_problem(await send(client, upload, 1, PART), 404, "upload_unknown")


async def test_an_upload_whose_time_is_over_is_given_up(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    gateway.clock.advance(gateway.settings.upload_keep_s - 1)
    assert await expire_uploads(gateway.deps) == 0
    gateway.clock.advance(1)
    assert is_problem(await client.get(upload), 404, "upload_unknown")
    assert (await client.get("/v1/datasets/ds_1/uploads")).json()["items"] == []
    assert await expire_uploads(gateway.deps) == 1
    assert list(gateway.sessions.opened("")) == []


async def test_a_completed_upload_keeps_its_import_when_its_time_is_over(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    completed = await client.post(f"{upload}/complete")
    gateway.clock.advance(gateway.settings.upload_keep_s)
    assert await expire_uploads(gateway.deps) == 1
    await run_job(gateway)
    assert (await client.get(completed.headers["location"])).status_code == 200


async def test_begun_twice_under_one_key_it_is_one_upload(gateway: Gateway, client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = await client.post("/v1/datasets/ds_1/uploads", json=NEW, headers=headers)
    again = await client.post("/v1/datasets/ds_1/uploads", json=NEW, headers=headers)
    assert first.json() == again.json()
    assert len(list(gateway.sessions.opened(""))) == 1


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"size": 0}, 422, "empty_archive"),
        ({"size": -1}, 422, "request_invalid"),
        ({"size": 100_000_001}, 413, "archive_too_large"),
        ({"file_name": ""}, 422, "request_invalid"),
    ],
)
async def test_what_cannot_be_uploaded_is_told_before_a_byte_is_sent(
    gateway: Gateway, client: httpx.AsyncClient, change: dict[str, Any], status: int, code: str
) -> None:
    answer = await client.post("/v1/datasets/ds_1/uploads", json={**NEW, **change})
    assert is_problem(answer, status, code)
    assert list(gateway.sessions.opened("")) == []


async def test_unknown_things_and_other_types_are_told(client: httpx.AsyncClient, upload: str) -> None:
    assert is_problem(await client.post("/v1/datasets/ds_9/uploads", json=NEW), 404, "dataset_unknown")
    assert is_problem(await client.get("/v1/datasets/ds_9/uploads"), 404, "dataset_unknown")
    assert is_problem(await client.get("/v1/uploads/upl_9"), 404, "upload_unknown")
    assert is_problem(await send(client, upload, 4, LAST), 422, "part_unknown")
    assert is_problem(await send(client, upload, 0, LAST), 422, "request_invalid")
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=b"):
        answer = await send(client, upload, 3, LAST, **{"Content-Type": kind})
        assert is_problem(answer, 415, "media_type_unsupported")


async def test_nothing_is_added_to_a_data_set_that_is_being_deleted(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    assert (await client.delete("/v1/datasets/ds_1")).status_code == 202
    assert is_problem(await client.post(f"{upload}/complete"), 409, "being_deleted")
    assert is_problem(await client.post("/v1/datasets/ds_1/uploads", json=NEW), 409, "being_deleted")
    [event] = await emitted(gateway.deps)
    assert isinstance(event, DatasetDeleteRequested)


async def test_an_upload_goes_with_its_data_set(gateway: Gateway, client: httpx.AsyncClient, upload: str) -> None:
    await archive_and_forget_dataset(delivered(DatasetDeleted(deletion_id="del_1", dataset_id="ds_1")), gateway.deps)
    assert is_problem(await client.get(upload), 404, "upload_unknown")


async def test_a_data_set_is_not_deleted_while_an_upload_becomes_an_import(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    await send_all(client, upload)
    await client.post(f"{upload}/complete")
    assert is_problem(await client.delete("/v1/datasets/ds_1"), 409, "import_under_way")


async def test_a_part_that_stalls_is_given_up_and_leaves_nothing(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    async def stalls() -> AsyncIterator[bytes]:
        yield b"PK"
        await asyncio.sleep(3600)

    answer = await client.put(f"{upload}/parts/1", content=stalls(), headers=RAW)
    assert is_problem(answer, 408, "body_stalled")
    assert list(gateway.settings.scratch_dir.iterdir()) == []


async def test_while_the_object_store_is_away_a_part_is_503(
    gateway: Gateway, client: httpx.AsyncClient, upload: str
) -> None:
    gateway.blobs.answering = False
    assert (await send(client, upload, 3, LAST)).status_code == 503
    assert (await client.post("/v1/datasets/ds_1/uploads", json=NEW)).status_code == 503


@pytest.mark.parametrize(
    ("size", "part"), [(1, 16 << 20), (5_000_000_000, 16 << 20), (10_000 * (16 << 20) + 1, 17 << 20)]
)
def test_a_file_has_at_most_ten_thousand_parts(size: int, part: int) -> None:
    assert part_size_of(size) == part
    assert size / part <= 10_000


def test_part_numbers_are_written_as_people_do() -> None:
    assert in_words({1, 4, 5, 6, 9}) == "1, 4 to 6, 9"
    assert in_words(range(1, 100, 2)).endswith("37, 39, and more")
