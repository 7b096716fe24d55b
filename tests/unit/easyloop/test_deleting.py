"""The commands that delete, over a platform that answers from a table."""

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from tests.unit.easyloop.platform import DATASET, T0, FakePlatform, a_problem

MODEL = {"id": "mdl_1", "dataset_id": "ds_1", "name": "fruit", "task": "image_classification", "last_version": 2,
         "created_at": T0}  # fmt: skip
ASKED = {"id": "del_1", "target": "/v1/datasets/ds_1", "status": "requested", "created_at": T0}
FAILURE = {"code": "run_under_way", "sentence": "Run run_1 is training; wait for its end."}


@pytest.fixture
def platform() -> FakePlatform:
    platform = FakePlatform()
    platform.on("GET /v1/datasets/ds_1", DATASET)
    platform.on("GET /v1/models/mdl_1", MODEL)
    for address in ("datasets/ds_1", "datasets/ds_1/versions/2", "models/mdl_1", "models/mdl_1/versions/2"):
        platform.on(f"DELETE /v1/{address}", httpx.Response(202, json=ASKED))
    platform.on("GET /v1/deletions/del_1", ASKED, {**ASKED, "status": "done"})
    return platform


def call(platform: FakePlatform, *arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), obj=platform.client, input=answer)


def deleted(platform: FakePlatform) -> list[str]:
    return [request.url.path for request in platform.asked if request.method == "DELETE"]


@pytest.mark.parametrize("kind", ["dataset ds_1", "model mdl_1"])
@pytest.mark.parametrize("version", [None, 2])
@pytest.mark.parametrize("answer", ["y\n", None])
def test_what_was_confirmed_is_deleted_and_waited_for(
    platform: FakePlatform, kind: str, version: int | None, answer: str | None
) -> None:
    noun, thing = kind.split()
    options = [*(["--version", str(version)] if version else []), *([] if answer else ["--yes"])]
    result = call(platform, noun, "delete", thing, *options, answer=answer or "")
    assert result.exit_code == 0, result.output
    assert "fruit" in result.output
    assert "deleted" in result.output
    assert deleted(platform) == [f"/v1/{noun}s/{thing}" + ("/versions/2" if version else "")]


def test_what_was_not_confirmed_stays(platform: FakePlatform) -> None:
    result = call(platform, "dataset", "delete", "ds_1", answer="n\n")
    assert (result.exit_code, deleted(platform)) == (1, [])


def test_what_is_refused_says_why(platform: FakePlatform) -> None:
    platform.on("GET /v1/deletions/del_1", {**ASKED, "status": "refused", "failure": FAILURE})
    result = call(platform, "model", "delete", "mdl_1", "--yes")
    assert result.exit_code == 1
    assert "Run run_1 is training" in result.output
    platform.on("DELETE /v1/models/mdl_1", a_problem(409, "run_under_way", "Run run_2 is searching; cancel it."))
    assert "run_2" in call(platform, "model", "delete", "mdl_1", "--yes").output


def test_a_mistyped_id_is_told_before_anything_is_asked(platform: FakePlatform) -> None:
    result = call(platform, "dataset", "delete", "ds_9", "--yes")
    assert (result.exit_code, deleted(platform)) == (1, [])
