"""What is said where the platform is away or is none, and where an id, a name or a file is mistyped: one sentence."""

from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from easyloop.suggesting import nearest
from tests.unit.easyloop.platform import DATASET, FakePlatform, a_problem


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


def call(platform: FakePlatform, *arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), obj=platform.client)


def run(folder: Path, *arguments: str, **environment: str) -> Result:
    """Without a fake: the platform is whatever the environment names."""
    nothing = {"EASYLOOP_URL": "", "EASYLOOP_API_KEY": "", "EASYLOOP_ADMIN_KEY": ""}
    return CliRunner().invoke(app, list(arguments), env={**nothing, "EASYLOOP_DATA_DIR": str(folder), **environment})


def is_one_sentence(result: Result, said: str) -> bool:
    """Status 1 and no stack trace; the doctor has lines of its own for a platform that is down."""
    return result.exit_code == 1 and isinstance(result.exception, SystemExit) and said in result.output


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "No EasyLoop is running here"),
        ("127.0.0.1:8080", "is no address; give it as http://host:port"),
        ("ftp://host", "is no address"),
        ("http://host:port", "is no address"),
        ("http://[", "is no address"),
        ("http://127.0.0.1:1", "EasyLoop does not answer at http://127.0.0.1:1"),
    ],
)
@pytest.mark.parametrize("command", ["doctor", "run list"])
def test_without_a_platform_there_is_one_sentence(tmp_path: Path, command: str, url: str, said: str) -> None:
    environment = {"EASYLOOP_URL": url, "EASYLOOP_API_KEY": "k"} if url else {}
    result = run(tmp_path, *command.split(), **environment)
    assert is_one_sentence(result, said), result.output


@pytest.mark.parametrize("content", ["{}", "no json", "[]"])
@pytest.mark.parametrize("command", ["doctor", "run list"])
def test_a_damaged_address_file_is_named(tmp_path: Path, command: str, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "stack.json").write_text(content)
    result = run(tmp_path, *command.split())
    assert is_one_sentence(result, "stack.json"), result.output


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, html="<html>hello</html>"), "answered with a web page, so it is not EasyLoop"),
        (httpx.Response(200, json={"hello": "world"}), "is it EasyLoop, and of this version?"),
        (httpx.Response(200, json=["hello"]), "is it EasyLoop, and of this version?"),
        (httpx.Response(200, text="hello"), "is it EasyLoop, and of this version?"),
        (httpx.Response(404, text="hello"), "and no problem document; is it EasyLoop?"),
        (a_problem(403, "key_wrong", "The key is not this platform's admin key."), "admin key"),
    ],
)
@pytest.mark.parametrize("command", ["doctor", "run list", "run show run_1"])
def test_what_is_no_easyloop_or_wants_another_key_is_one_sentence(
    platform: FakePlatform, command: str, answer: httpx.Response, said: str
) -> None:
    for path in ("/v1/doctor", "/v1/runs", "/v1/runs/run_1"):
        platform.on(f"GET {path}", answer)
    result = call(platform, *command.split())
    assert is_one_sentence(result, said), result.output


KNOWN = {"ds_01JQ8ABCDEFGHJKMNPQRSTVWXY": "Fruit", "ds_01JQ9ZZZZZZZZZZZZZZZZZZZZZ": "Surfaces", "ds_2": ""}


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("ds_01JQ8ABCDEFGHJKMNPQRSTVWXX", "ds_01JQ8ABCDEFGHJKMNPQRSTVWXY (Fruit)"),
        ("ds_01jq8abcdefghjkmnpqrstvwxy", "ds_01JQ8ABCDEFGHJKMNPQRSTVWXY (Fruit)"),
        ("fruits", "ds_01JQ8ABCDEFGHJKMNPQRSTVWXY (Fruit)"),
        ("ds_01JQ5QQQQQQQQQQQQQQQQQQQQQ", ""),
        ("bicycle", ""),
    ],
)
def test_a_slip_of_the_pen_is_told_from_another_thing(wrong: str, meant: str) -> None:
    assert nearest(wrong, KNOWN) == meant


def test_a_mistyped_id_is_answered_with_the_nearest(platform: FakePlatform) -> None:
    platform.on("GET /v1/datasets/fruits", a_problem(404, "dataset_unknown", "There is no dataset fruits."))
    platform.on("GET /v1/datasets", {"items": [DATASET]})
    result = call(platform, "dataset", "show", "fruits")
    assert result.output.strip() == "There is no dataset fruits. Did you mean ds_1 (fruit)?"
    platform.on("GET /v1/datasets", a_problem(409, "busy", "Not now."))
    assert call(platform, "dataset", "show", "fruits").output.strip() == "There is no dataset fruits."


def test_a_mistyped_file_is_answered_with_the_nearest(platform: FakePlatform, tmp_path: Path) -> None:
    (tmp_path / "fruit.zip").write_bytes(b"PK")
    result = call(platform, "data", "upload", str(tmp_path / "friut.zip"))
    assert is_one_sentence(result, f"Did you mean {tmp_path / 'fruit.zip'}?")
    assert is_one_sentence(call(platform, "data", "upload", str(tmp_path / "nowhere" / "x.zip")), "There is no file")


@pytest.mark.parametrize(("name", "said"), [("nothing.jpg", "No such file"), (".", "Is a directory")])
def test_a_file_to_predict_that_cannot_be_read_is_named(
    platform: FakePlatform, tmp_path: Path, name: str, said: str
) -> None:
    assert is_one_sentence(call(platform, "predict", "mdl_1", str(tmp_path / name)), said)
