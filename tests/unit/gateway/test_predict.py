"""Predictions over HTTP."""

import asyncio
import base64
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from learning.task import Prediction, Predictor
from tests.unit.gateway.building import BROKEN, FakePredictor, Gateway, is_problem

ADDRESS = "/v1/models/mdl_1/predict"


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path, settings_changes={"predict_max_bytes": 1000, "predict_max_files": 3})
    await gateway.has_dataset()
    await gateway.has_model(1)
    await gateway.models.refresh()
    return gateway


def picture() -> dict[str, tuple[str, bytes, str]]:
    return {"file": ("a.jpg", b"picture", "image/jpeg")}


async def test_the_three_ways_to_send_a_file_answer_alike(gateway: Gateway) -> None:
    encoded = base64.b64encode(b"picture").decode()
    async with gateway.client() as client:
        form = (await client.post(ADDRESS, files=picture())).json()
        text = (await client.post(ADDRESS, json={"image": encoded})).json()
        headed = (await client.post(ADDRESS, json={"image": f"data:image/png;base64,{encoded}"})).json()
        raw = (await client.post(ADDRESS, content=b"picture", headers={"Content-Type": "image/jpeg"})).json()
    assert (form["model_id"], form["version"], form["threshold"]) == ("mdl_1", 1, 0.5)
    assert form["predictions"][0].pop("name") == "a.jpg"
    assert form == text == raw == headed
    assert form["predictions"][0]["results"][0] == {"class_id": "c0", "name": "v1", "score": 0.5}


async def test_top_is_bounded_by_the_number_of_classes(gateway: Gateway) -> None:
    async with gateway.client() as client:
        for top, expected in ((1, 1), (3, 3), (500, 3)):
            answer = (await client.post(ADDRESS, files=picture(), params={"top": top})).json()
            assert len(answer["predictions"][0]["results"]) == expected
        assert is_problem(await client.post(ADDRESS, files=picture(), params={"top": 0}), 422, "request_invalid")


async def test_of_several_files_the_broken_one_is_named_and_the_rest_answered(gateway: Gateway) -> None:
    files = [("file", ("a.jpg", b"1")), ("file", ("b.jpg", BROKEN)), ("file", ("c.jpg", b"2"))]
    async with gateway.client() as client:
        entries = (await client.post(ADDRESS, files=files)).json()["predictions"]
    assert [entry["name"] for entry in entries] == ["a.jpg", "b.jpg", "c.jpg"]
    assert ["failure" in entry for entry in entries] == [False, True, False]
    assert entries[1]["failure"] == {
        "code": "truncated_image",
        "sentence": "b.jpg: the file breaks off; upload it again.",
    }


async def test_a_broken_file_alone_is_a_problem_in_the_plug_ins_words(gateway: Gateway) -> None:
    async with gateway.client() as client:
        answer = await client.post(ADDRESS, files={"file": ("b.jpg", BROKEN)})
    assert is_problem(answer, 422, "truncated_image")
    assert answer.json()["detail"] == "b.jpg: the file breaks off; upload it again."


async def test_bodies_that_cannot_be_used(gateway: Gateway) -> None:
    json_type = {"Content-Type": "application/json"}
    form_type = {"Content-Type": "multipart/form-data; boundary=b"}
    async with gateway.client() as client:
        text = await client.post(ADDRESS, content=b"hello", headers={"Content-Type": "text/plain"})
        assert is_problem(text, 415, "media_type_unsupported")
        assert is_problem(await client.post(ADDRESS, content=b"{", headers=json_type), 400, "json_invalid")
        assert is_problem(await client.post(ADDRESS, json={"text": "x"}), 422, "image_missing")
        assert is_problem(await client.post(ADDRESS, json={"image": "%%%"}), 422, "base64_invalid")
        assert is_problem(await client.post(ADDRESS, content=b"x", headers=form_type), 400, "multipart_invalid")
        assert is_problem(await client.post(ADDRESS, files={"other": b"x"}), 422, "file_missing")
        assert is_problem(await client.post(ADDRESS, files={"file": bytes(1001)}), 413, "file_too_large")
        raw = await client.post(ADDRESS, content=bytes(1001), headers={"Content-Type": "image/png"})
        assert is_problem(raw, 413, "file_too_large")
        large = base64.b64encode(bytes(1001)).decode()
        assert is_problem(await client.post(ADDRESS, json={"image": large}), 413, "file_too_large")
        many = [("file", (f"{n}.jpg", b"1")) for n in range(4)]
        assert is_problem(await client.post(ADDRESS, files=many), 413, "too_many_files")


async def test_what_is_not_there_is_told_apart(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert is_problem(await client.post("/v1/models/mdl_9/predict", files=picture()), 404, "model_unknown")
        unpublished = await client.post(ADDRESS, files=picture(), params={"alias": "staging"})
        assert is_problem(unpublished, 409, "not_published")
        await gateway.has_alias(1, "staging")
        loading = await client.post(ADDRESS, files=picture(), params={"alias": "staging"})
        assert is_problem(loading, 503, "model_loading")
        await gateway.models.refresh()
        assert (await client.post(ADDRESS, files=picture(), params={"alias": "staging"})).status_code == 200


async def test_more_files_than_may_wait_are_refused_at_once(tmp_path: Path) -> None:
    going_on = threading.Event()

    class Slow(FakePredictor):
        def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
            if contents[0] == b"slow":
                going_on.wait(10)
            return super().predict(contents)

    def load(_: str, __: Path) -> Predictor:
        return Slow("v1")

    gateway = Gateway(tmp_path, load=load, settings_changes={"predict_queue": 2})
    await gateway.has_model(1)
    await gateway.models.refresh()
    served = gateway.models.find("mdl_1", "production")
    assert served is not None
    held = asyncio.create_task(gateway.predictions.predict(served.predictor, [b"slow", b"slow"]))
    await asyncio.sleep(0)
    async with gateway.client() as client:
        busy = await client.post(ADDRESS, files=picture())
        going_on.set()
        await held
        later = await client.post(ADDRESS, files=picture())
    assert is_problem(busy, 503, "predictions_busy")
    assert later.status_code == 200
