"""Aliases that go back, their history, and the policy by which new versions are published."""

from pathlib import Path
from typing import Any

import pytest

from schemas.publishing import AliasRollbackRequested, PolicySetRequested, PublishPolicy
from schemas.requests import AliasMoveRequested
from tests.builders import emitted
from tests.unit.gateway.building import T0, Gateway, is_problem

ROLLBACK = "/v1/models/mdl_1/aliases/production/rollback"
HISTORY = "/v1/models/mdl_1/aliases/production/history"
POLICY = "/v1/models/mdl_1/policy"


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path)
    await gateway.has_dataset()
    await gateway.has_model(1, alias=None)
    await gateway.has_model(2)
    return gateway


async def has_moves(gateway: Gateway, *versions: int) -> None:
    """The alias named these one after the other."""
    before: int | None = None
    for number, version in enumerate(versions):
        row = {"_id": f"move_{number}", "model_id": "mdl_1", "alias": "production", "version": version}
        story = {"previous_version": before, "reason": f"move {number}", "actor": "policy", "at": T0}
        await gateway.registry.put("alias_moves", {**row, **story})
        before = version


async def test_rolling_back_is_one_call(gateway: Gateway) -> None:
    await has_moves(gateway, 1, 2)
    asked = {"reason": "misses cracks", "actor": "ann"}
    async with gateway.client() as client:
        first = await client.post(ROLLBACK, json=asked, headers={"Idempotency-Key": "k"})
        again = await client.post(ROLLBACK, json=asked, headers={"Idempotency-Key": "k"})
    assert (first.status_code, first.headers["location"], first.json()) == (202, HISTORY, again.json())
    assert first.json() == {"model_id": "mdl_1", "alias": "production", "from_version": 2, "version": 1, **asked}
    expected = AliasRollbackRequested(model_id="mdl_1", alias="production", from_version=2, **asked)
    assert await emitted(gateway.deps) == [expected]


async def test_without_another_version_there_is_no_way_back(gateway: Gateway) -> None:
    await has_moves(gateway, 2)
    async with gateway.client() as client:
        assert is_problem(await client.post(ROLLBACK, json={}), 409, "rollback_impossible")
        await gateway.registry.put("alias_moves", {"_id": "move_9", "model_id": "mdl_1", "alias": "production",
            "version": 2, "previous_version": 9, "reason": "", "actor": "ann", "at": T0})  # fmt: skip
        answer = await client.post(ROLLBACK, json={})
        assert is_problem(answer, 409, "rollback_impossible")
        assert "version 9 before, which is deleted" in answer.json()["detail"]
    assert await emitted(gateway.deps) == []


async def test_who_saw_another_version_published_is_told_so(gateway: Gateway) -> None:
    await has_moves(gateway, 1, 2)
    async with gateway.client() as client:
        assert is_problem(await client.post(ROLLBACK, json={"from_version": 1}), 409, "alias_moved")
        assert (await client.post(ROLLBACK, json={"from_version": 2})).status_code == 202


async def test_a_repeated_call_hears_the_same_also_after_the_alias_moved(gateway: Gateway) -> None:
    await has_moves(gateway, 1, 2)
    headers = {"Idempotency-Key": "k"}
    async with gateway.client() as client:
        first = await client.post(ROLLBACK, json={"from_version": 2}, headers=headers)
        await has_moves(gateway, 1, 2, 1)
        await gateway.has_alias(1)
        again = await client.post(ROLLBACK, json={"from_version": 2}, headers=headers)
    assert (again.status_code, again.json()) == (202, first.json())
    assert len(await emitted(gateway.deps)) == 1


async def test_the_history_says_who_moved_it_when_and_why_newest_first(gateway: Gateway) -> None:
    await has_moves(gateway, 1, 2, 1)
    async with gateway.client() as client:
        moves = (await client.get(HISTORY)).json()["items"]
        newest = (await client.get(HISTORY, params={"limit": 1})).json()["items"]
    assert [(move["previous_version"], move["version"]) for move in moves] == [(2, 1), (1, 2), (None, 1)]
    assert newest == [{"previous_version": 2, "version": 1, "reason": "move 2", "actor": "policy", "at": T0}]


async def test_who_moves_an_alias_may_say_their_name(gateway: Gateway) -> None:
    async with gateway.client() as client:
        await client.put("/v1/models/mdl_1/aliases/beta", json={"version": 1, "actor": "ann"})
    expected = AliasMoveRequested(model_id="mdl_1", alias="beta", version=1, actor="ann")
    assert await emitted(gateway.deps) == [expected]


async def test_a_policy_is_set_as_a_whole_and_shown_once_the_registry_has_it(gateway: Gateway) -> None:
    wanted = {"publish": "if_better", "metric": "accuracy", "min_gain": 0.01, "min_test_samples": 50, "protect": []}
    async with gateway.client() as client:
        before = (await client.get(POLICY)).json()
        answer = await client.put(POLICY, json={"metric": "accuracy", "min_gain": 0.01, "min_test_samples": 50})
        row = await gateway.registry.get("models", "mdl_1")
        assert row is not None
        await gateway.registry.put("models", {**row, "policy": wanted})
        assert (await client.get(POLICY)).json() == wanted
        assert (await client.get("/v1/models/mdl_1")).json()["policy"] == wanted
    assert before == PublishPolicy().model_dump()
    assert (answer.status_code, answer.headers["location"], answer.json()) == (202, POLICY, wanted)
    expected = PolicySetRequested(model_id="mdl_1", policy=PublishPolicy.model_validate(wanted))
    assert await emitted(gateway.deps) == [expected]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"publish": "sometimes"}, "request_invalid"),
        ({"min_gian": 0.1}, "request_invalid"),
        ({"min_gain": 2}, "request_invalid"),
        ({"min_test_samples": -1}, "request_invalid"),
        ({"metric": "accurracy"}, "metric_unknown"),
        ({"protect": ["macro_recall"]}, "metric_unknown"),
    ],
)
async def test_a_policy_that_could_never_be_met_is_refused(gateway: Gateway, body: dict[str, Any], code: str) -> None:
    async with gateway.client() as client:
        answer = await client.put(POLICY, json=body)
    assert is_problem(answer, 422, code)
    assert code == "request_invalid" or "there are accuracy." in answer.json()["detail"]
    assert await emitted(gateway.deps) == []


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/v1/models/mdl_9/policy", "model_unknown"),
        ("PUT", "/v1/models/mdl_9/policy", "model_unknown"),
        ("GET", "/v1/models/mdl_9/aliases/production/history", "model_unknown"),
        ("GET", "/v1/models/mdl_1/aliases/beta/history", "alias_unknown"),
        ("POST", "/v1/models/mdl_9/aliases/production/rollback", "model_unknown"),
        ("POST", "/v1/models/mdl_1/aliases/beta/rollback", "alias_unknown"),
    ],
)
async def test_unknown_ones_are_404(gateway: Gateway, method: str, path: str, code: str) -> None:
    async with gateway.client() as client:
        answer = await client.request(method, path, json=None if method == "GET" else {})
    assert is_problem(answer, 404, code)


async def test_a_version_says_why_it_was_not_published(gateway: Gateway) -> None:
    publication = {"published": False, "reason": "accuracy 0.8000 against 0.9000 of version 1 on the same samples"}
    row = await gateway.registry.get("model_versions", "mdl_1/2")
    assert row is not None
    await gateway.registry.put("model_versions", {**row, "publication": publication})
    await gateway.has_run(state="succeeded", model_id="mdl_1", model_version=2, publication=publication)
    async with gateway.client() as client:
        assert (await client.get("/v1/models/mdl_1/versions/2")).json()["publication"] == publication
        assert (await client.get("/v1/models/mdl_1/versions/1")).json()["publication"] is None
        assert (await client.get("/v1/runs/run_1")).json()["publication"] == publication
