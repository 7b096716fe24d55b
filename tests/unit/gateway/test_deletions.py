"""DELETE over HTTP: what is in the way is named, what is under way is not asked twice, what is gone is 404."""

import asyncio
from pathlib import Path

import httpx
import pytest

from schemas.deletion import (
    DatasetDeleteRequested,
    DatasetVersionDeleteRequested,
    ModelDeleted,
    ModelDeleteRequested,
    ModelVersionDeleteRequested,
)
from schemas.serving import ModelDeployed
from services.gateway.handlers import HANDLERS
from tests.builders import dispatcher, emitted, record_of
from tests.unit.gateway.building import T0, Gateway, is_problem

DATASET = "/v1/datasets/ds_1"
MODEL = "/v1/models/mdl_1"
REASON = {"code": "run_under_way", "sentence": "Run run_1 is training; wait for its end."}


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path)
    await gateway.has_dataset(next_version=3)
    for number in (1, 2):
        await gateway.has_version(number)
        await gateway.has_model(number)
    await gateway.models.refresh()
    return gateway


async def asked_for(gateway: Gateway) -> list[object]:
    return [event for event in await emitted(gateway.deps) if not isinstance(event, ModelDeployed)]


async def has_import(gateway: Gateway, status: str) -> None:
    row = {"_id": "imp_1", "dataset_id": "ds_1", "version": 1, "file_name": "fruit.zip", "created_at": T0}
    await gateway.ingest.put("imports", {**row, "status": status})


async def is_answered(gateway: Gateway, owner: str, deletion: httpx.Response, status: str) -> None:
    row = {"_id": deletion.json()["id"], "status": status, "failure": REASON if status == "refused" else None, "at": T0}
    await gateway.deps.read[owner].put("deletions", row)


@pytest.mark.parametrize(
    ("address", "owner", "kind", "fields"),
    [
        (DATASET, "ingest", DatasetDeleteRequested, {"dataset_id": "ds_1"}),
        (f"{DATASET}/versions/1", "preprocess", DatasetVersionDeleteRequested, {"dataset_id": "ds_1", "version": 1}),
        (MODEL, "registry", ModelDeleteRequested, {"model_id": "mdl_1"}),
        (f"{MODEL}/versions/1", "registry", ModelVersionDeleteRequested, {"model_id": "mdl_1", "version": 1}),
    ],
)
async def test_what_can_be_deleted_is_asked_for_once_and_followed(
    gateway: Gateway, address: str, owner: str, kind: type[DatasetDeleteRequested], fields: dict[str, object]
) -> None:
    async with gateway.client() as client:
        first, again = await client.delete(address), await client.delete(address)
        assert (first.status_code, first.json(), first.json()["status"]) == (202, again.json(), "requested")
        assert (await client.get(first.headers["location"])).json() == first.json()
        assert first.json()["target"] == address
        event = kind.model_validate({"deletion_id": first.json()["id"], "actor": "admin", **fields})
        assert await asked_for(gateway) == [event]
        await is_answered(gateway, owner, first, "refused")
        refused = (await client.get(first.headers["location"])).json()
        assert (refused["status"], refused["failure"]) == ("refused", REASON)
        another = await client.delete(address)
        assert another.json()["id"] != first.json()["id"], "a refused one may be asked for again"


async def test_many_at_once_are_one(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answers = await asyncio.gather(*(client.delete(DATASET) for _ in range(6)))
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(await asked_for(gateway)) == 1


@pytest.mark.parametrize("address", ["/v1/datasets/ds_9", f"{DATASET}/versions/9", "/v1/models/mdl_9",
                                     f"{MODEL}/versions/9"])  # fmt: skip
async def test_what_is_not_there_is_404(gateway: Gateway, address: str) -> None:
    async with gateway.client() as client:
        answer = await client.delete(address)
        assert answer.status_code == 404
        assert answer.json()["code"].endswith("_unknown")
        assert is_problem(await client.get("/v1/deletions/del_9"), 404, "deletion_unknown")


async def test_what_is_deleted_is_404_and_no_list_has_it(gateway: Gateway) -> None:
    await gateway.has_dataset(deleted_at=T0)
    await gateway.has_dataset("ds_2")
    await gateway.has_version(1, "deleted", "ds_2")
    await gateway.has_version(2, "ready", "ds_2")
    row = {"_id": "imp_2", "dataset_id": "ds_2", "version": 1, "file_name": "a.zip", "created_at": T0}
    await gateway.ingest.put("imports", {**row, "status": "ingested"})
    await gateway.registry.update("models", "mdl_1", {"deleted_at": T0})
    async with gateway.client() as client:
        for method in ("GET", "DELETE"):
            assert is_problem(await client.request(method, DATASET), 404, "dataset_unknown")
            assert is_problem(await client.request(method, f"{DATASET}/versions/1"), 404, "dataset_unknown")
            assert is_problem(await client.request(method, "/v1/datasets/ds_2/versions/1"), 404, "version_unknown")
            assert is_problem(await client.request(method, MODEL), 404, "model_unknown")
            assert is_problem(await client.request(method, f"{MODEL}/versions/1"), 404, "model_unknown")
        assert is_problem(await client.post(f"{DATASET}/imports", content=b"PK"), 404, "dataset_unknown")
        assert is_problem(await client.post("/v1/runs", json={"dataset_id": "ds_1"}), 404, "dataset_unknown")
        asked = await client.post("/v1/runs", json={"dataset_id": "ds_2", "version": 1})
        assert is_problem(asked, 404, "version_unknown")
        assert [item["id"] for item in (await client.get("/v1/datasets")).json()["items"]] == ["ds_2"]
        versions = (await client.get("/v1/datasets/ds_2/versions")).json()["items"]
        assert [item["version"] for item in versions] == [2]
        assert (await client.get("/v1/models")).json()["items"] == []


async def test_an_import_under_way_keeps_its_data_set(gateway: Gateway) -> None:
    await has_import(gateway, "accepted")
    async with gateway.client() as client:
        answer = await client.delete(DATASET)
        assert is_problem(answer, 409, "import_under_way")
        assert "imp_1" in answer.json()["detail"]
        await has_import(gateway, "ingested")
        assert (await client.delete(DATASET)).status_code == 202


async def test_an_import_that_was_just_sent_keeps_its_data_set_and_one_lost_long_ago_does_not(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert (await client.post(f"{DATASET}/imports", content=b"PK")).status_code == 202
        assert is_problem(await client.delete(DATASET), 409, "import_under_way")
        gateway.deps.clock.advance(3600)  # type: ignore[attr-defined]  # the fake clock can be moved
        assert (await client.delete(DATASET)).status_code == 202


@pytest.mark.parametrize("address", [DATASET, f"{DATASET}/versions/1", MODEL])
async def test_a_run_under_way_keeps_what_it_needs(gateway: Gateway, address: str) -> None:
    await gateway.has_run("run_7", "training")
    async with gateway.client() as client:
        answer = await client.delete(address)
        assert is_problem(answer, 409, "run_under_way")
        assert "run_7" in answer.json()["detail"]
        await gateway.has_run("run_7", "failed")
        assert (await client.delete(address)).status_code == 202


async def test_a_run_that_was_just_asked_for_keeps_its_version_and_no_other(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert (await client.post("/v1/runs", json={"dataset_id": "ds_1", "version": 2})).status_code == 202
        assert is_problem(await client.delete(f"{DATASET}/versions/2"), 409, "run_under_way")
        assert is_problem(await client.delete(DATASET), 409, "run_under_way")
        assert (await client.delete(f"{DATASET}/versions/1")).status_code == 202


@pytest.mark.parametrize("address", [DATASET, f"{DATASET}/versions/1", f"{DATASET}/versions/3"])
async def test_a_version_being_prepared_keeps_those_it_builds_upon(gateway: Gateway, address: str) -> None:
    await gateway.has_version(3, "open")
    async with gateway.client() as client:
        answer = await client.delete(address)
    assert is_problem(answer, 409, "version_under_way")
    assert "Version 3" in answer.json()["detail"]


async def test_a_published_version_stays_until_its_alias_moves(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answer = await client.delete(f"{MODEL}/versions/2")
        assert is_problem(answer, 409, "alias_names_version")
        assert "production" in answer.json()["detail"]
        assert (await client.delete(f"{MODEL}/versions/1")).status_code == 202


async def test_nothing_is_added_to_what_is_being_deleted_until_that_is_refused(gateway: Gateway) -> None:
    async with gateway.client() as client:
        deletion = await client.delete(DATASET)
        assert is_problem(await client.post(f"{DATASET}/imports", content=b"PK"), 409, "being_deleted")
        assert is_problem(await client.post("/v1/runs", json={"dataset_id": "ds_1"}), 409, "being_deleted")
        await is_answered(gateway, "ingest", deletion, "refused")
        assert (await client.post(f"{DATASET}/imports", content=b"PK")).status_code == 202


async def test_a_deleted_model_is_unloaded_and_keeps_the_name_of_its_deleted_data_set(gateway: Gateway) -> None:
    await gateway.has_dataset(deleted_at=T0)
    async with gateway.client() as client:
        assert (await client.get(MODEL)).json()["name"] == "fruit"
        assert (await client.post(f"{MODEL}/predict", files={"file": b"x"})).status_code == 200
        await gateway.registry.update("models", "mdl_1", {"deleted_at": T0})
        await gateway.registry.delete("aliases", "mdl_1/production")
        deleted = ModelDeleted(deletion_id="del_1", model_id="mdl_1")
        await dispatcher(gateway.deps, HANDLERS).deliver(record_of(deleted))
        await asyncio.wait_for(gateway.models.turn(), 5)
        assert is_problem(await client.post(f"{MODEL}/predict", files={"file": b"x"}), 404, "model_unknown")
