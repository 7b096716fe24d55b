"""Deletions from the API through their owners and back, in one process: gateway, ingest, preprocess and registry."""

from pathlib import Path
from typing import Any

import pytest

from chassis.failures import FailedEvent
from chassis.records import Repository
from schemas.requests import ImportRequested
from services.ingest.handlers import HANDLERS
from tests.builders import a_blob, dispatcher, record_of
from tests.inputs.case import good_files, packed, picture
from tests.platform import InlinePlatform


@pytest.fixture
def platform(tmp_path: Path) -> InlinePlatform:
    return InlinePlatform(tmp_path)


async def two_versions(platform: InlinePlatform) -> str:
    """A data set with two ready versions, of six and of seven samples."""
    dataset_id = await platform.create_dataset()
    for files in (good_files(), {"cat/late.png": picture(77)}):
        uploaded = await platform.upload(packed(files), "photos.zip", dataset_id=dataset_id)
        assert uploaded.outcome == "ready"
    return dataset_id


async def delete(platform: InlinePlatform, address: str) -> dict[str, Any]:
    """The deletion once its owner has answered."""
    async with platform.client() as client:
        asked = await client.delete(address)
        assert asked.status_code == 202, asked.text
        await platform.settle()
        answer: dict[str, Any] = (await client.get(asked.headers["location"])).json()
    return answer


async def rows(platform: InlinePlatform, collection: str) -> list[str]:
    """Ids in the collections of that name of all services."""
    found = [await deps.database.find(collection, {}) for deps in platform.owners]
    return sorted(str(row["_id"]) for part in found for row in part)


async def test_a_version_is_deleted_and_later_ones_keep_their_samples(platform: InlinePlatform) -> None:
    dataset_id = await two_versions(platform)
    deletion = await delete(platform, f"/v1/datasets/{dataset_id}/versions/1")
    assert (deletion["status"], deletion["failure"]) == ("done", None)
    assert await rows(platform, "chunks") == [f"{dataset_id}/2/0", f"{dataset_id}/2/0"]
    async with platform.client() as client:
        assert (await client.get(f"/v1/datasets/{dataset_id}/versions/1")).status_code == 404
        second = (await client.get(f"/v1/datasets/{dataset_id}/versions/2")).json()
        assert second["sample_count"] == 7
        third = await platform.upload(packed({"dog/new.png": picture(78)}), "more.zip", dataset_id=dataset_id)
        assert third.version is not None
        assert (third.version["version"], third.version["sample_count"]) == (3, 8)


async def test_the_number_of_a_deleted_version_is_not_given_again(platform: InlinePlatform) -> None:
    dataset_id = await two_versions(platform)
    await delete(platform, f"/v1/datasets/{dataset_id}/versions/2")
    again = await platform.upload(packed({"cat/late.png": picture(77)}), "photos.zip", dataset_id=dataset_id)
    assert again.version is not None
    assert again.version["version"] == 3


async def test_a_data_set_is_deleted_with_all_that_was_made_of_it(platform: InlinePlatform) -> None:
    kept, dataset_id = await two_versions(platform), await two_versions(platform)
    deletion = await delete(platform, f"/v1/datasets/{dataset_id}")
    assert deletion["status"] == "done"
    for collection, each in (("chunks", 4), ("imports", 2), ("import_requests", 2)):
        left = await rows(platform, collection)
        assert len(left) == each, collection
    async with platform.client() as client:
        for address in ("", "/versions", "/versions/1"):
            assert (await client.get(f"/v1/datasets/{dataset_id}{address}")).status_code == 404
        listed = (await client.get("/v1/datasets")).json()["items"]
    assert [item["id"] for item in listed] == [kept]


async def test_an_import_that_arrives_after_the_deletion_is_refused(platform: InlinePlatform) -> None:
    dataset_id = await two_versions(platform)
    await delete(platform, f"/v1/datasets/{dataset_id}")
    late = ImportRequested(dataset_id=dataset_id, import_id="imp_late", archive=a_blob(), file_name="late.zip")
    (ingest,) = [deps for deps in platform.owners if deps.service == "ingest"]
    await dispatcher(ingest, HANDLERS).deliver(record_of(late))
    (letter,) = await Repository(ingest.database, FailedEvent).find({})
    assert (letter.status, letter.code) == ("dead", "dataset_deleted")
    assert await ingest.database.get("imports", "imp_late") is None


@pytest.mark.parametrize("part", ["", "/versions/2"])
async def test_a_run_that_began_behind_the_gateways_back_is_found_by_the_owner(
    platform: InlinePlatform, part: str
) -> None:
    dataset_id = await two_versions(platform)
    async with platform.client() as client:
        asked = await client.delete(f"/v1/datasets/{dataset_id}{part}")
        run = {"_id": "run_7", "dataset_id": dataset_id, "version": 2, "state": "searching"}
        await platform.registry.database.put("runs", run)
        await platform.settle()
        deletion = (await client.get(asked.headers["location"])).json()
        assert (deletion["status"], deletion["failure"]["code"]) == ("refused", "run_under_way")
        assert "run_7" in deletion["failure"]["sentence"]
        assert (await client.get(f"/v1/datasets/{dataset_id}/versions/2")).status_code == 200


async def test_an_import_that_overtook_the_deletion_keeps_its_data_set(platform: InlinePlatform) -> None:
    dataset_id = await two_versions(platform)
    async with platform.client() as client:
        asked = await client.delete(f"/v1/datasets/{dataset_id}")
        (ingest,) = [deps for deps in platform.owners if deps.service == "ingest"]
        (row, _) = await ingest.database.find("imports", {"dataset_id": dataset_id})
        await ingest.database.put("imports", {**row, "_id": "imp_new", "version": 3, "status": "accepted"})
        await platform.settle()
        deletion = (await client.get(asked.headers["location"])).json()
    assert (deletion["status"], deletion["failure"]["code"]) == ("refused", "import_under_way")


async def test_a_version_in_preparation_keeps_those_before_it(platform: InlinePlatform) -> None:
    dataset_id = await two_versions(platform)
    async with platform.client() as client:
        asked = await client.delete(f"/v1/datasets/{dataset_id}/versions/1")
        (preprocess,) = [deps for deps in platform.owners if deps.service == "preprocess"]
        row = await preprocess.database.get("versions", f"{dataset_id}/2")
        assert row is not None
        await preprocess.database.put("versions", {**row, "_id": f"{dataset_id}/3", "version": 3, "status": "open"})
        await platform.settle()
        deletion = (await client.get(asked.headers["location"])).json()
    assert (deletion["status"], deletion["failure"]["code"]) == ("refused", "version_under_way")


async def test_a_model_is_deleted_over_the_api(platform: InlinePlatform) -> None:
    row = {"_id": "mdl_1", "dataset_id": "ds_1", "task": "image_classification", "last_version": 1}
    await platform.registry.database.put("models", {**row, "created_at": platform.registry.clock.now()})
    deletion = await delete(platform, "/v1/models/mdl_1")
    assert deletion["status"] == "done"
    async with platform.client() as client:
        assert (await client.delete("/v1/models/mdl_1")).status_code == 404
