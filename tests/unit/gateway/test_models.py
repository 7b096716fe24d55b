"""Models, versions, aliases, reports, bundles."""

import hashlib
from pathlib import Path

import pytest

from schemas.requests import AliasMoveRequested
from tests.builders import emitted
from tests.unit.gateway.building import T0, Gateway, is_problem


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path)
    await gateway.has_dataset()
    await gateway.has_model(1, alias=None)
    await gateway.has_model(2)
    return gateway


async def test_models_and_versions_are_shown(gateway: Gateway) -> None:
    async with gateway.client() as client:
        listed = (await client.get("/v1/models", params={"dataset_id": "ds_1"})).json()["items"]
        nothing = (await client.get("/v1/models", params={"dataset_id": "ds_2"})).json()["items"]
        model = (await client.get("/v1/models/mdl_1")).json()
        versions = (await client.get("/v1/models/mdl_1/versions")).json()["items"]
        version = (await client.get("/v1/models/mdl_1/versions/1")).json()
    assert (listed, nothing) == ([model], [])
    assert (model["name"], model["last_version"], model["aliases"]) == ("fruit", 2, {"production": 2})
    assert [one["version"] for one in versions] == [2, 1]
    assert (version["run_id"], version["metrics"]) == ("run_1", {"accuracy": 0.9})


async def test_report_and_bundle_are_downloaded(gateway: Gateway) -> None:
    async with gateway.client() as client:
        report = await client.get("/v1/models/mdl_1/versions/1/report")
        bundle = await client.get("/v1/models/mdl_1/versions/1/bundle")
        version = (await client.get("/v1/models/mdl_1/versions/1")).json()
    assert report.json() == {"accuracy": 0.9}
    assert hashlib.sha256(bundle.content).hexdigest() == version["bundle"]["sha256"]
    assert (bundle.headers["content-type"], "mdl_1-v1.zip" in bundle.headers["content-disposition"]) == (
        "application/zip",
        True,
    )
    assert list(gateway.settings.scratch_dir.iterdir()) == []


async def test_an_alias_is_moved_on_request(gateway: Gateway) -> None:
    async with gateway.client() as client:
        asked = {"version": 1, "reason": "better at night"}
        headers = {"Idempotency-Key": "k"}
        moved = await client.put("/v1/models/mdl_1/aliases/production", json=asked, headers=headers)
        again = await client.put("/v1/models/mdl_1/aliases/production", json=asked, headers=headers)
        assert is_problem(await client.put("/v1/models/mdl_1/aliases/Bad!", json=asked), 422, "request_invalid")
        absent = await client.put("/v1/models/mdl_1/aliases/production", json={"version": 9})
        assert is_problem(absent, 404, "version_unknown")
    assert (moved.status_code, moved.headers["location"], moved.json()) == (
        202,
        "/v1/models/mdl_1/aliases",
        again.json(),
    )
    expected = AliasMoveRequested(model_id="mdl_1", alias="production", version=1, reason="better at night")
    assert await emitted(gateway.deps) == [expected]


async def test_aliases_show_their_history_and_what_answers(gateway: Gateway) -> None:
    shared = {"model_id": "mdl_1", "alias": "production", "reason": "first", "actor": "policy"}
    await gateway.registry.put("alias_moves", {"_id": "m1", **shared, "version": 1, "previous_version": None, "at": T0})
    await gateway.registry.put(
        "alias_moves",
        {"_id": "m2", **shared, "version": 2, "previous_version": 1, "at": "2026-02-01T00:00:00.000Z"},
    )
    async with gateway.client() as client:
        [before] = (await client.get("/v1/models/mdl_1/aliases")).json()["items"]
        await gateway.models.refresh()
        [after] = (await client.get("/v1/models/mdl_1/aliases")).json()["items"]
    assert (before["version"], before["serving_version"], after["serving_version"]) == (2, None, 2)
    assert [move["version"] for move in after["moves"]] == [2, 1]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/models/mdl_9", "model_unknown"),
        ("/v1/models/mdl_9/versions", "model_unknown"),
        ("/v1/models/mdl_9/aliases", "model_unknown"),
        ("/v1/models/mdl_1/versions/9", "version_unknown"),
        ("/v1/models/mdl_1/versions/9/report", "version_unknown"),
        ("/v1/models/mdl_1/versions/9/bundle", "version_unknown"),
    ],
)
async def test_unknown_ones_are_404(gateway: Gateway, path: str, code: str) -> None:
    async with gateway.client() as client:
        assert is_problem(await client.get(path), 404, code)


async def test_a_lost_report_says_so(gateway: Gateway) -> None:
    gateway.blobs.objects.clear()
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/models/mdl_1/versions/1/report"), 500, "blob_lost")
        assert is_problem(await client.get("/v1/models/mdl_1/versions/1/bundle"), 500, "blob_lost")
