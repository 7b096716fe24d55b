"""Rolling back, looking back and policies on the command line, over a platform that answers from a table."""

import json

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from easyloop.errors import EasyLoopError
from tests.unit.easyloop.platform import ENDED, T0, FakePlatform, a_problem

ROLLBACK = {"model_id": "mdl_1", "alias": "production", "from_version": 2, "version": 1, "reason": "", "actor": "ann"}
ALIAS = {"model_id": "mdl_1", "alias": "production", "version": 2}
POLICY: dict[str, object] = {
    "publish": "if_better",
    "metric": None,
    "min_gain": 0.0,
    "min_test_samples": 0,
    "protect": [],
}
POLICY_PATH = "/v1/models/mdl_1/policy"


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


def call(platform: FakePlatform, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["model", *arguments], obj=platform.client, env={"USER": "ann"})


def sent(platform: FakePlatform, method: str) -> object:
    [request] = [one for one in platform.asked if one.method == method]
    return json.loads(request.content)


def test_rolling_back_waits_until_the_alias_names_the_other_version(platform: FakePlatform) -> None:
    platform.on("POST /v1/models/mdl_1/aliases/production/rollback", httpx.Response(202, json=ROLLBACK))
    platform.on("GET /v1/models/mdl_1/aliases", {"items": [ALIAS]}, {"items": [{**ALIAS, "version": 1}]})
    result = call(platform, "rollback", "mdl_1", "--reason", "misses cracks")
    assert result.output.strip() == "production of mdl_1 went back from version 2 to 1"
    assert sent(platform, "POST") == {"reason": "misses cracks", "actor": "ann"}


def test_a_rollback_that_does_not_come_is_not_waited_for_for_ever(platform: FakePlatform) -> None:
    platform.on("POST /v1/models/mdl_1/aliases/production/rollback", httpx.Response(202, json=ROLLBACK))
    platform.on("GET /v1/models/mdl_1/aliases", {"items": [ALIAS]})
    with pytest.raises(EasyLoopError, match="has not yet; look again"):
        platform.client().rollback("mdl_1")


def test_where_there_is_no_way_back_the_reason_is_said(platform: FakePlatform) -> None:
    refused = a_problem(409, "rollback_impossible", "production of mdl_1 has named no other version before.")
    platform.on("POST /v1/models/mdl_1/aliases/production/rollback", refused)
    result = call(platform, "rollback", "mdl_1")
    assert (result.exit_code, "named no other version" in result.output) == (1, True)


def test_the_history_is_a_line_a_move(platform: FakePlatform) -> None:
    moves = [
        {"version": 2, "previous_version": 1, "reason": "better", "actor": "policy", "at": T0},
        {"version": 1, "previous_version": None, "reason": "first", "actor": "policy", "at": T0},
    ]
    platform.on("GET /v1/models/mdl_1/aliases/production/history", {"items": moves})
    assert call(platform, "history", "mdl_1").output.splitlines() == [
        f"{T0}\t1\t2\tpolicy\tbetter",
        f"{T0}\t\t1\tpolicy\tfirst",
    ]


def test_a_policy_is_shown_in_words(platform: FakePlatform) -> None:
    strict = {**POLICY, "metric": "macro_f1", "min_gain": 0.01, "min_test_samples": 50, "protect": ["accuracy"]}
    platform.on(f"GET {POLICY_PATH}", POLICY, strict, {**POLICY, "publish": "never"}, {**POLICY, "publish": "always"})
    shown = [call(platform, "policy", "mdl_1").output.splitlines() for _ in range(4)]
    assert shown == [
        ["a new version goes to production when it is not worse by the metric of its task"],
        [
            "a new version goes to production when it gains 0.01 or more by macro_f1",
            "  judged on at least 50 test samples",
            "  and is not worse by accuracy",
        ],
        ["new versions are published by hand only"],
        ["every new version goes to production by itself"],
    ]


def test_what_is_not_said_stays_as_it_is(platform: FakePlatform) -> None:
    before = {**POLICY, "min_test_samples": 50}
    after = {**before, "min_gain": 0.02, "protect": ["accuracy"]}
    platform.on(f"GET {POLICY_PATH}", before, before, after)
    platform.on(f"PUT {POLICY_PATH}", httpx.Response(202, json=after))
    result = call(platform, "policy", "mdl_1", "--min-gain", "0.02", "--protect", "accuracy")
    assert result.exit_code == 0, result.output
    assert sent(platform, "PUT") == {**after, "actor": "ann"}


def test_reset_begins_with_the_defaults(platform: FakePlatform) -> None:
    platform.on(f"GET {POLICY_PATH}", {**POLICY, "publish": "never"})
    platform.on(f"PUT {POLICY_PATH}", httpx.Response(202, json={}))
    result = call(platform, "policy", "mdl_1", "--reset", "--publish", "never")
    assert result.output.strip() == "new versions are published by hand only"
    assert sent(platform, "PUT") == {**POLICY, "publish": "never", "actor": "ann"}


def test_why_a_version_was_not_published_is_shown_with_its_run_and_its_model(platform: FakePlatform) -> None:
    publication = {"published": False, "reason": "accuracy 0.8 against 0.9 of version 1 on the same samples"}
    version = {"model_id": "mdl_1", "version": 2, "run_id": "run_1", "dataset_id": "ds_1", "dataset_version": 1,
               "metrics": {"accuracy": 0.8}, "publication": publication, "created_at": T0}  # fmt: skip
    model = {"id": "mdl_1", "dataset_id": "ds_1", "name": "fruit", "task": "t", "last_version": 2, "created_at": T0}
    platform.on("GET /v1/models/mdl_1", model)
    platform.on("GET /v1/models/mdl_1/versions", {"items": [version]})
    platform.on("GET /v1/models/mdl_1/aliases", {"items": []})
    platform.on("GET /v1/runs/run_1", {**ENDED, "publication": publication})
    assert f"no: {publication['reason']}" in call(platform, "show", "mdl_1").output
    shown = CliRunner().invoke(app, ["run", "show", "run_1"], obj=platform.client).output
    assert f"not published: {publication['reason']}" in shown
