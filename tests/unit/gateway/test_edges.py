"""What callers send by mistake: each is answered with a problem that says what to do, never with a fault of ours."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest

from schemas.base import Event
from schemas.requests import RunCancelRequested
from schemas.run import RunState
from schemas.serving import ModelDeployed
from tests.builders import emitted
from tests.unit.gateway.building import Gateway, is_problem

IMPORTS = "/v1/datasets/ds_1/imports"
PREDICT = "/v1/models/mdl_1/predict"
JSON = {"Content-Type": "application/json"}


async def asked(gateway: Gateway) -> list[Event]:
    """What was emitted for callers."""
    return [event for event in await emitted(gateway.deps) if not isinstance(event, ModelDeployed)]


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path, settings_changes={"upload_idle_s": 0.5})
    await gateway.has_dataset()
    await gateway.has_model(1)
    await gateway.models.refresh()
    return gateway


async def test_a_client_that_stalls_is_given_up_and_leaves_nothing(gateway: Gateway) -> None:
    async def stalls() -> AsyncIterator[bytes]:
        yield b"PK"
        await asyncio.sleep(3600)

    async with gateway.client() as client:
        for address in (IMPORTS, PREDICT, "/v1/datasets"):
            headers = JSON if address == "/v1/datasets" else {"Content-Type": "application/octet-stream"}
            answer = await client.post(address, content=stalls(), headers=headers)
            assert is_problem(answer, 408, "body_stalled"), address
            assert answer.headers["connection"] == "close"
    assert list(gateway.settings.scratch_dir.iterdir()) == []


async def test_a_slow_but_steady_client_is_waited_for(gateway: Gateway) -> None:
    async def trickles() -> AsyncIterator[bytes]:
        for _ in range(8):
            await asyncio.sleep(0.08)  # below the 0.5 s allowed at a time, above them in sum
            yield b"PK"

    async with gateway.client() as client:
        answer = await client.post(IMPORTS, content=trickles())
    assert (answer.status_code, answer.json()["size"]) == (202, 16)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        (IMPORTS, "text/html"),
        (IMPORTS, "application/json"),
        (IMPORTS, "multipart/mixed"),
        (PREDICT, "text/plain"),
        ("/v1/datasets", "text/plain"),
        ("/v1/runs", "application/x-www-form-urlencoded"),
        ("/v1/runs", ""),
    ],
)
async def test_a_body_of_a_kind_that_is_not_understood_is_415(gateway: Gateway, address: str, kind: str) -> None:
    async with gateway.client() as client:
        answer = await client.post(address, content=b"{}", headers={"Content-Type": kind} if kind else {})
    assert is_problem(answer, 415, "media_type_unsupported")


CURLS_OWN = "application/x-www-form-urlencoded"  # what `curl --data-binary @photos.zip` calls any file


@pytest.mark.parametrize(
    "kind", ["", "application/zip", "application/x-tar", "image/png", "APPLICATION/OCTET-STREAM", CURLS_OWN]
)
async def test_an_upload_may_call_its_content_by_any_name_of_a_file(gateway: Gateway, kind: str) -> None:
    async with gateway.client() as client:
        answer = await client.post(IMPORTS, content=b"PK", headers={"Content-Type": kind} if kind else {})
    assert answer.status_code == 202


async def test_json_with_its_charset_named_is_json(gateway: Gateway) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets", content=b'{"name": "x"}', headers=headers)
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\xff\xfe\xfa", 400),
        (b'{"name": "\xc3\x28"}', 400),
        (b"[" * 100_000, 400),
        (b'{"name": "\\ud800"}', 422),
        (b'{"name": NaN}', 422),
        (b'{"name": ["fruit"]}', 422),
        (b'"fruit"', 422),
        (b"null", 422),
        (b"", 422),
        (b'{"name": "' + b"x" * 201 + b'"}', 422),
        (b'{"name": "a", "task": 7}', 422),
    ],
)
async def test_json_that_cannot_be_used_is_the_callers_fault(gateway: Gateway, body: bytes, status: int) -> None:
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert await asked(gateway) == []


async def test_an_unknown_task_names_the_known_ones(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answer = await client.post("/v1/datasets", json={"name": "a", "task": "mind_reading"})
    assert is_problem(answer, 422, "task_unknown")
    assert "image_classification" in answer.json()["detail"]


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "9" * 5000])
async def test_a_version_that_is_no_number_is_422(gateway: Gateway, number: str) -> None:
    async with gateway.client() as client:
        for place in ("datasets/ds_1", "models/mdl_1"):
            assert is_problem(await client.get(f"/v1/{place}/versions/{number}"), 422, "request_invalid")


@pytest.mark.parametrize("number", [str(10**18), "1" + "0" * 30])
async def test_a_version_larger_than_any_is_404(gateway: Gateway, number: str) -> None:
    async with gateway.client() as client:
        for place in ("datasets/ds_1", "models/mdl_1"):
            assert is_problem(await client.get(f"/v1/{place}/versions/{number}"), 404, "version_unknown")
        moved = await client.put("/v1/models/mdl_1/aliases/production", json={"version": int(number)})
        assert is_problem(moved, 404, "version_unknown")


async def test_a_number_in_the_archive_larger_than_any_is_the_callers_fault(gateway: Gateway) -> None:
    await gateway.has_run("run_1")
    stream = {"Accept": "text/event-stream"}
    async with gateway.client() as client:
        for address in ("/v1/events", "/v1/runs/run_1/events"):
            too_large = await client.get(address, params={"after": str(10**30)}, headers=stream)
            assert is_problem(too_large, 422, "request_invalid")
            for last in (str(10**30), "9" * 5000, "x", "²"):
                headers = {b"Accept": b"text/event-stream", b"Last-Event-ID": last.encode()}
                assert is_problem(await client.get(address, headers=headers), 400, "last_event_id_invalid")


@pytest.mark.parametrize("strange", ["%00", "..%2F..", "%F0%9F%8D%8E", "%FF", "x" * 3000, "%20", "ds_1%2Fx"])
async def test_an_id_of_any_shape_is_just_unknown(gateway: Gateway, strange: str) -> None:
    async with gateway.client() as client:
        for address in ("datasets/{}", "datasets/{}/versions", "models/{}", "models/{}/aliases", "runs/{}"):
            answer = await client.get("/v1/" + address.format(strange))
            assert answer.status_code == 404, (address, answer.text)
            assert answer.json()["code"].endswith("_unknown")


TAKEN: tuple[RunState, ...] = ("requested", "waiting_data", "searching", "training", "evaluating")


@pytest.mark.parametrize("state", get_args(RunState))
async def test_a_run_can_be_cancelled_until_it_registers(gateway: Gateway, state: RunState) -> None:
    await gateway.has_run("run_1", state)
    async with gateway.client() as client:
        answer = await client.post("/v1/runs/run_1/cancel")
    if state in TAKEN:
        assert answer.status_code == 202
        assert await asked(gateway) == [RunCancelRequested(run_id="run_1")]
        return
    assert await asked(gateway) == []
    if state == "cancelled":
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    else:
        assert is_problem(answer, 409, "run_over")
        assert state in answer.json()["detail"]


async def test_the_same_request_without_a_key_is_two_requests(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answers = [await client.post("/v1/datasets", json={"name": "fruit"}) for _ in "12"]
    assert len({answer.json()["id"] for answer in answers}) == 2


@pytest.mark.parametrize("address", ["/v1/datasets", IMPORTS, "/v1/runs"])
async def test_many_requests_at_once_under_one_key_are_one(gateway: Gateway, address: str) -> None:
    await gateway.has_version(1)
    body = {"/v1/datasets": {"name": "fruit"}, "/v1/runs": {"dataset_id": "ds_1"}}.get(address)
    content = b"PK" if body is None else json.dumps(body).encode()
    headers = {"Idempotency-Key": "k", "Content-Type": "application/zip" if body is None else "application/json"}
    async with gateway.client() as client:
        answers = await asyncio.gather(*(client.post(address, headers=headers, content=content) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.text for answer in answers}) == 1
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert len(await asked(gateway)) == 1


@pytest.mark.parametrize(
    ("address", "first", "second"),
    [
        ("/v1/datasets", {"name": "fruit"}, {"name": "tiles"}),
        ("/v1/datasets", {"name": "fruit"}, {"name": "fruit", "auto_train": "off"}),
        ("/v1/runs", {"dataset_id": "ds_1"}, {"dataset_id": "ds_1", "preset": "accurate"}),
    ],
)
async def test_another_request_under_the_same_key_is_422(
    gateway: Gateway, address: str, first: dict[str, str], second: dict[str, str]
) -> None:
    await gateway.has_version(1)
    headers = {"Idempotency-Key": "k"}
    async with gateway.client() as client:
        assert (await client.post(address, json=first, headers=headers)).status_code == 202
        again = await client.post(address, json=second, headers=headers)
    assert is_problem(again, 422, "idempotency_key_reused")
