"""The Python client."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from easyloop.client import Client
from easyloop.discovery import Platform, find_platform
from easyloop.errors import EasyLoopError
from tests.unit.easyloop.platform import DATASET, ENDED, IMPORT, RUN, VERSION, FakePlatform, a_problem, a_stream


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


def test_an_upload_is_streamed_with_its_length_and_key(platform: FakePlatform, tmp_path: Path) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(bytes(3_000_000))
    sent: list[int] = []
    platform.on("POST /v1/datasets/ds_1/imports", IMPORT)
    with platform.client() as client:
        assert client.upload("ds_1", archive, sent.append).id == "imp_1"
    [request] = platform.asked
    assert request.headers["authorization"] == "Bearer elk_key"
    assert request.headers["content-length"] == "3000000"
    assert "transfer-encoding" not in request.headers
    assert (request.url.params["file_name"], len(request.content), sent[-1]) == ("fruit.zip", 3_000_000, 3_000_000)
    assert len(sent) == 3


def test_a_503_is_tried_again_whole_and_under_the_same_key(platform: FakePlatform, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"content")
    platform.on(
        "POST /v1/datasets/ds_1/imports", a_problem(503, "busy", "Wait.", **{"Retry-After": "1"}), _json(IMPORT)
    )
    with platform.client() as client:
        client.upload("ds_1", archive)
    first, second = platform.asked
    assert first.content == second.content == b"content"
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def _json(body: Mapping[str, object]) -> httpx.Response:
    return httpx.Response(202, json=body)


def test_a_problem_becomes_an_error_with_its_sentence(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs/run_9", a_problem(404, "run_unknown", "There is no run run_9."))
    with platform.client() as client, pytest.raises(EasyLoopError) as caught:
        client.run("run_9")
    assert (caught.value.code, caught.value.sentence, caught.value.status) == (
        "run_unknown",
        "There is no run run_9.",
        404,
    )


def test_what_is_not_easyloop_says_so(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs/run_1", httpx.Response(502, text="<html>"))
    with platform.client() as client, pytest.raises(EasyLoopError, match="is it EasyLoop"):
        client.run("run_1")


def test_waiting_for_a_version(platform: FakePlatform) -> None:
    platform.on("GET /v1/datasets/ds_1/imports/imp_1", IMPORT, {**IMPORT, "status": "accepted", "version": 1})
    platform.on("GET /v1/datasets/ds_1/versions/1", {**VERSION, "status": "open"}, VERSION)
    with platform.client() as client:
        assert client.wait_for_version("ds_1", "imp_1").sample_count == 9


@pytest.mark.parametrize("stage", ["import", "version"])
def test_waiting_for_a_version_that_is_rejected_raises_the_reason(platform: FakePlatform, stage: str) -> None:
    failure = {"code": "no_samples", "sentence": "Nothing usable; add images."}
    rejected = {"status": "rejected", "failure": failure}
    imported = {**IMPORT, "status": "ingested", "version": 1}
    platform.on("GET /v1/datasets/ds_1/imports/imp_1", {**imported, **rejected} if stage == "import" else imported)
    platform.on("GET /v1/datasets/ds_1/versions/1", {**VERSION, **rejected})
    with platform.client() as client, pytest.raises(EasyLoopError, match="add images"):
        client.wait_for_version("ds_1", "imp_1")


def test_a_broken_stream_resumes_after_the_last_event(platform: FakePlatform) -> None:
    stage = ("easyloop.run.stage.changed.v1", {"state": "training"})

    def breaks(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("gone")

    platform.on("GET /v1/runs/run_1/events", a_stream(stage, stage), a_stream(stage, first=3))
    with platform.client() as client:
        assert [event.seq for event in client.run_events("run_1")] == [1, 2]
    platform.on("GET /v1/runs/run_1/events", breaks, breaks, a_stream(stage, first=3))
    with platform.client() as client:
        assert [event.seq for event in client.run_events("run_1", after=2)] == [3]
    assert [request.headers["last-event-id"] for request in platform.asked[1:]] == ["2", "2", "2"]


def test_waiting_for_a_run(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs/run_1/events", a_stream(("easyloop.run.ended.v1", {})))
    platform.on("GET /v1/runs/run_1", RUN, ENDED)
    with platform.client() as client:
        assert client.wait_for_run("run_1").model_version == 1


def test_predictions_of_many_files_go_in_batches(platform: FakePlatform, tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        count = request.content.count(b'name="file"')
        entry = {"name": "x", "results": [{"class_id": "c0", "name": "Apfel", "score": 0.9}]}
        return _json({"model_id": "mdl_1", "version": 1, "threshold": 0.5, "predictions": [entry] * count})

    picture = tmp_path / "a.jpg"
    picture.write_bytes(b"jpeg")
    platform.on("POST /v1/models/mdl_1/predict", answer)
    with platform.client() as client:
        found = list(client.predict_many("mdl_1", [picture] * 17 + [("b.jpg", b"jpeg")], batch=16))
    assert len(found) == 18
    assert [request.content.count(b'name="file"') for request in platform.asked] == [16, 2]
    assert found[0].results[0].name == "Apfel"


def test_a_platform_that_is_down_says_how_to_start_it() -> None:
    def down(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    client = Client(Platform("http://127.0.0.1:1", "k"), httpx.MockTransport(down))
    with client, pytest.raises(EasyLoopError, match="make up"):
        client.datasets()


def test_the_local_platform_is_found_below_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"admin_key": "elk_local"}))
    stack = {"gateway_url": "http://127.0.0.1:8080", "secrets": str(secrets)}
    (tmp_path / "run" / "stack.json").write_text(json.dumps(stack))
    local = {"EASYLOOP_DATA_DIR": str(tmp_path)}
    assert find_platform(local) == Platform("http://127.0.0.1:8080", "elk_local")
    named = {**local, "EASYLOOP_URL": "https://far/", "EASYLOOP_API_KEY": "elk_far"}
    assert find_platform(named) == Platform("https://far", "elk_far")
    assert "elk_far" not in repr(find_platform(named))


def test_no_platform_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EasyLoopError, match="make up"):
        find_platform({"EASYLOOP_DATA_DIR": str(tmp_path)})


def test_a_data_set_is_made(platform: FakePlatform) -> None:
    platform.on("POST /v1/datasets", DATASET)
    with platform.client() as client:
        assert client.create_dataset("fruit", auto_train="off").name == "fruit"
    assert json.loads(platform.asked[0].content)["auto_train"] == "off"
