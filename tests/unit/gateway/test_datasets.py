"""Data sets and versions."""

from pathlib import Path

import pytest

from chassis.manifests import Rejection, write_rejections
from schemas.requests import DatasetRequested
from tests.builders import emitted
from tests.unit.gateway.building import T0, Gateway, is_problem


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


async def test_a_caller_reads_its_own_write(gateway: Gateway) -> None:
    async with gateway.client() as client:
        made = await client.post("/v1/datasets", json={"name": "fruit", "auto_train": "off"})
        assert made.status_code == 202
        found = await client.get(made.headers["location"])
        listed = await client.get("/v1/datasets")
    assert found.json() == made.json()
    assert found.json()["status"] == "requested"
    assert [item["id"] for item in listed.json()["items"]] == [made.json()["id"]]
    [event] = await emitted(gateway.deps)
    assert event == DatasetRequested(
        dataset_id=made.json()["id"], name="fruit", task="image_classification", auto_train="off"
    )


async def test_the_owners_record_beats_the_request(gateway: Gateway) -> None:
    async with gateway.client() as client:
        made = (await client.post("/v1/datasets", json={"name": "fruit"})).json()
        await gateway.has_dataset(made["id"], next_version=3)
        found = (await client.get(f"/v1/datasets/{made['id']}")).json()
    assert (found["status"], found["last_version"]) == ("created", 2)


async def test_an_unknown_task_is_named_with_those_that_exist(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets", json={"name": "a", "task": "telepathy"})
    assert is_problem(answer, 422, "task_unknown")
    assert "image_classification" in answer.json()["detail"]


async def test_the_same_key_and_request_give_the_same_answer(gateway: Gateway) -> None:
    headers = {"Idempotency-Key": "k1"}
    async with gateway.client() as client:
        first = await client.post("/v1/datasets", json={"name": "fruit"}, headers=headers)
        again = await client.post("/v1/datasets", json={"name": "fruit"}, headers=headers)
        other = await client.post("/v1/datasets", json={"name": "veg"}, headers=headers)
    assert (again.status_code, again.json(), again.headers["location"]) == (
        202,
        first.json(),
        first.headers["location"],
    )
    assert is_problem(other, 422, "idempotency_key_reused")
    assert len(await emitted(gateway.deps)) == 1


async def test_unknown_ones_are_404(gateway: Gateway) -> None:
    await gateway.has_dataset()
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/datasets/ds_9"), 404, "dataset_unknown")
        assert is_problem(await client.get("/v1/datasets/ds_9/versions"), 404, "dataset_unknown")
        assert is_problem(await client.get("/v1/datasets/ds_1/versions/4"), 404, "version_unknown")


async def test_a_version_shows_what_was_refused(gateway: Gateway) -> None:
    rows = [Rejection("a.jpg", "truncated_image", "a.jpg: the file breaks off; upload it again.")]
    blob = gateway.blobs.put("prj_default", write_rejections(rows), "application/vnd.apache.parquet")
    classes = [{"id": "c0", "name": "Apfel", "count": 9}]
    await gateway.has_dataset()
    await gateway.has_version(1, rejections=blob.model_dump(), classes=classes, rejected_count=1)
    async with gateway.client() as client:
        version = (await client.get("/v1/datasets/ds_1/versions/1")).json()
        listed = (await client.get("/v1/datasets/ds_1/versions")).json()["items"]
    assert version["rejections"] == [{"name": "a.jpg", "code": "truncated_image", "sentence": rows[0].sentence}]
    assert version["classes"] == classes
    assert listed[0]["rejections"] is None


@pytest.mark.parametrize(
    ("status", "shown"), [("accepted", "open"), ("ingested", "open"), ("rejected", "rejected"), ("requested", None)]
)
async def test_a_version_is_there_from_the_moment_it_has_a_number(
    gateway: Gateway, status: str, shown: str | None
) -> None:
    await gateway.has_dataset()
    number = None if status == "requested" else 1
    row = {"_id": "imp_1", "dataset_id": "ds_1", "file_name": "a.zip", "status": status, "version": number}
    await gateway.ingest.put("imports", {**row, "created_at": T0, "rejections": None})
    async with gateway.client() as client:
        versions = (await client.get("/v1/datasets/ds_1/versions")).json()["items"]
        one = await client.get("/v1/datasets/ds_1/versions/1")
    assert [version["status"] for version in versions] == ([shown] if shown else [])
    assert one.status_code == (200 if shown else 404)
