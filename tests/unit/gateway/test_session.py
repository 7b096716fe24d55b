"""A browser's session: made from the admin key, bound to this origin, over in time."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from services.gateway.api.session_cookie import COOKIE
from tests.unit.gateway.building import KEY, Gateway, is_problem

HERE = {"Origin": "http://gateway"}


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


async def signed_in(client: httpx.AsyncClient) -> httpx.Response:
    answer = await client.post("/v1/session", headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 201
    return answer


async def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        cookie = (await signed_in(client)).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"} <= set(cookie.split("; "))
    assert KEY not in cookie


async def test_a_session_may_do_what_the_key_may(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        await signed_in(client)
        assert (await client.get("/v1/session")).json() == {"actor": "admin"}
        assert (await client.post("/v1/datasets", json={"name": "fruit"}, headers=HERE)).status_code == 202


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://elsewhere"}, {"Origin": "null"}, {"Origin": "http://gateway:1"}]
)
async def test_another_sites_page_changes_nothing(gateway: Gateway, headers: dict[str, str]) -> None:
    async with gateway.client(None) as client:
        await signed_in(client)
        refused = await client.post("/v1/datasets", json={"name": "fruit"}, headers=headers)
        assert is_problem(refused, 403, "origin_foreign")
        assert (await client.get("/v1/datasets")).json() == {"items": []}


async def test_after_signing_out_the_browser_has_nothing(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        await signed_in(client)
        assert (await client.delete("/v1/session", headers=HERE)).status_code == 204
        assert is_problem(await client.get("/v1/datasets"), 401, "key_missing")


async def test_a_session_ends(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        await signed_in(client)
        gateway.clock.advance(timedelta(hours=12).total_seconds())
        assert is_problem(await client.get("/v1/datasets"), 401, "session_over")


@pytest.mark.parametrize("session", ["x", "9999999999.00.00", "x.y.z", "."])
async def test_a_made_up_session_is_none(gateway: Gateway, session: str) -> None:
    async with gateway.client(None) as client:
        client.cookies.set(COOKIE, session)
        assert is_problem(await client.get("/v1/datasets"), 401, "session_over")


async def test_a_session_cannot_be_made_longer(gateway: Gateway) -> None:
    async with gateway.client(None) as client:
        await signed_in(client)
        ends, nonce, signature = client.cookies[COOKIE].split(".")
        client.cookies.clear()
        client.cookies.set(COOKIE, f"{int(ends) + 1}.{nonce}.{signature}")
        assert is_problem(await client.get("/v1/datasets"), 401, "session_over")
