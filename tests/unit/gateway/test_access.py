"""Keys, unknown paths, invalid requests, servers that are away, the OpenAPI document, health."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chassis.errors import ServerUnavailable
from tests.unit.gateway.building import KEY, Gateway, is_problem

ROUTES = 47


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


async def test_every_address_wants_the_key(gateway: Gateway) -> None:
    paths = gateway.app.openapi()["paths"]
    routes = [(method, path) for path, methods in paths.items() for method in methods if path.startswith("/v1/")]
    assert len(routes) == ROUTES
    body = {"name": "a", "dataset_id": "ds_1", "version": 1}
    async with gateway.client(None) as nobody, gateway.client("elk_wrong") as stranger:
        for method, path in routes:
            address = re.sub(r"\{\w+\}", "x1", path.replace("{version}", "1"))
            missing = await nobody.request(method, address, json=body)
            assert is_problem(missing, 401, "key_missing"), (method, path)
            assert missing.headers["www-authenticate"] == "Bearer"
            assert is_problem(await stranger.request(method, address, json=body), 403, "key_wrong"), (method, path)


async def test_the_key_may_come_in_its_own_header(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        assert (await client.get("/v1/datasets", headers={"X-API-Key": KEY})).status_code == 200


async def test_unknown_paths_and_methods_are_problems(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/nothing"), 404, "path_unknown")
        refused = await client.delete("/v1/datasets")
        assert is_problem(refused, 405, "method_not_allowed")
        assert refused.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/datasets", {"name": ""}),
        ("/v1/datasets", {"name": "a", "auto_train": "sometimes"}),
        ("/v1/runs", {"dataset_id": "ds_1", "preset": "heroic"}),
        ("/v1/runs", {"dataset_id": "ds_1", "version": 0}),
    ],
)
async def test_an_invalid_request_names_its_faults(gateway: Gateway, path: str, body: dict[str, object]) -> None:
    async with gateway.client() as client:
        answer = await client.post(path, json=body)
    assert is_problem(answer, 422, "request_invalid")
    assert answer.json()["errors"][0]["field"].startswith("body.")


async def test_a_body_that_is_no_json_is_a_problem(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets", content=b"{", headers={"Content-Type": "application/json"})
    assert is_problem(answer, 422, "request_invalid")


@pytest.mark.parametrize("announced", [True, False])
async def test_a_large_body_is_refused_where_none_is_expected(gateway: Gateway, announced: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(32):
            yield b" " * 65536

    async with gateway.client() as client:
        content = b" " * (2 << 20) if announced else pieces()
        answer = await client.post("/v1/datasets", content=content, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 413, "body_too_large")


async def test_a_server_that_is_away_is_503_with_a_hint(gateway: Gateway) -> None:
    gateway.database.answering = False
    async with gateway.client() as client:
        answer = await client.get("/v1/datasets")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"
    assert answer.headers["content-type"] == "application/problem+json"


async def test_an_unexpected_error_is_a_problem_too(gateway: Gateway) -> None:
    await gateway.ingest.put("datasets", {"_id": "ds_1"})
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/datasets/ds_1"), 500, "internal_error")


async def test_the_document_is_complete(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        document = (await client.get("/openapi.json")).json()
    assert "Problem" in document["components"]["schemas"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert set(document["components"]["securitySchemes"]) == {"AdminKey", "AdminKeyHeader", "Session"}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route.get("summary"), (method, path)
            assert route.get("description"), (method, path)
            if path.startswith("/v1/"):
                assert route["security"], (method, path)
                assert "application/problem+json" in route["responses"]["401"]["content"], (method, path)


async def test_nothing_is_served_before_the_indexes_are_there(gateway: Gateway) -> None:
    gateway.prepared = False
    async with gateway.client() as client:
        assert is_problem(await client.post("/v1/datasets", json={"name": "fruit"}), 503, "starting")
        assert (await client.get("/health/ready")).json()["waiting_for"] == {"indexes": "they are being made"}
        gateway.prepared = True
        assert (await client.get("/health/ready")).status_code == 200


async def test_health_needs_no_key(tmp_path: Path) -> None:
    async def away() -> None:
        raise ServerUnavailable("mongo_unavailable", "no answer from the database")

    gateway = Gateway(tmp_path, probes={"mongo": away})
    async with gateway.client(None) as client:
        assert (await client.get("/health/live")).status_code == 200
        ready = await client.get("/health/ready")
        assert ready.status_code == 503
        assert ready.json()["waiting_for"] == {"mongo": "no answer from the database"}
        assert b"easyloop_" in (await client.get("/metrics")).content


async def test_the_documentation_page_needs_nothing_from_elsewhere(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        page = (await client.get("/docs")).text
        assets = re.findall(r'(?:src|href)="([^"]+)"', page)
        assert len(assets) >= 3
        for asset in assets:
            assert asset.startswith("/"), f"{asset} comes from another host"
            assert (await client.get(asset)).status_code == 200
