"""`easyloop doctor`, with the gateway and without."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from easyloop.client import Client
from easyloop.discovery import Platform
from tests.unit.easyloop.platform import FakePlatform, a_problem

OK = {"name": "outbox", "status": "ok", "found": "everything is sent", "remedy": ""}
BAD = {"name": "topics", "status": "error", "found": "missing: x", "remedy": "run setup"}


def call(platform: FakePlatform, *options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *options], obj=platform.client)


@pytest.mark.parametrize(("checks", "status"), [([OK], 0), ([OK, BAD], 1)])
def test_the_exit_status_is_that_of_the_worst_check(checks: list[dict[str, str]], status: int) -> None:
    platform = FakePlatform()
    platform.on("GET /v1/doctor", {"status": checks[-1]["status"], "checks": checks})
    result = call(platform)
    assert result.exit_code == status
    assert "ok\toutbox\teverything is sent" in result.output


def test_other_programs_can_read_it() -> None:
    platform = FakePlatform()
    platform.on("GET /v1/doctor", {"status": "error", "checks": [OK, BAD]})
    assert [json.loads(line) for line in call(platform, "--json").stdout.splitlines()] == [OK, BAD]


def test_a_wrong_key_is_said_as_it_is() -> None:
    platform = FakePlatform()
    platform.on("GET /v1/doctor", a_problem(401, "key_wrong", "The key is not valid."))
    result = call(platform)
    assert (result.exit_code, "The key is not valid." in result.output) == (1, True)


@pytest.fixture
def listening() -> Iterator[str]:
    """A port that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that nobody listens on, and nobody else can take meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_without_the_gateway_it_says_which_local_programs_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listening: str, silent: str
) -> None:
    stack = {
        "gateway_url": f"http://{silent}",
        "kafka": listening,
        "mongo": f"mongodb://{silent}/?directConnection=true",
        "s3": listening,
        "health": {"trainer": f"http://{silent}/health/ready"},
        "logs": "/data/logs",
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "stack.json").write_text(json.dumps(stack), encoding="utf-8")
    monkeypatch.setenv("EASYLOOP_DATA_DIR", str(tmp_path))
    platform = Platform(f"http://{silent}", "elk_key")
    result = CliRunner().invoke(app, ["doctor"], obj=lambda: Client(platform, httpx.HTTPTransport()))
    rows = {line.split("\t")[1]: line for line in result.output.splitlines()}
    assert result.exit_code == 1
    assert rows["bus"] == "ok\tbus\ttakes connections\t"
    assert rows["mongo"].startswith("error\tmongo\tdoes not answer")
    assert "make up" in rows["mongo"]
    assert "/data/logs/mongo.log" in rows["mongo"]
    assert rows["trainer"].startswith("error\ttrainer")
    assert "does not answer" in rows["gateway"]
