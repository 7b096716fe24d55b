"""Files that are no usable pictures, and JSON that is none: a prediction names what is wrong, however it was sent."""

import base64
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from learning.image_classification.reading import decode_square
from learning.task import Prediction, Predictor
from tests.unit.gateway.building import FakePredictor, Gateway, is_problem

PREDICT = "/v1/models/mdl_1/predict"
JSON = {"Content-Type": "application/json"}


class Decoding(FakePredictor):
    """Reads pictures as the real one does."""

    def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
        """See Predictor."""
        for position, content in enumerate(contents, start=1):
            decode_square(content, f"picture {position}", 32)
        return super().predict(contents)


def load_decoding(task: str, folder: Path) -> Predictor:
    return Decoding("v1")


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path, load=load_decoding)
    await gateway.has_model(1)
    await gateway.models.refresh()
    return gateway


def a_picture(kind: str, side: int = 40) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((side, side), 60).convert("RGB").save(out, kind)
    return out.getvalue()


def a_header_without_pixels() -> bytes:
    """A PNG that says it has 60,000 x 60,000 pixels."""
    content = bytearray(a_picture("PNG"))
    content[16:24] = (60_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 422, "empty_file"),
        (b"no picture at all", 415, "not_an_image"),
        (b"<html><body>404</body></html>", 415, "not_an_image"),
        (a_picture("JPEG")[:-400], 422, "truncated_image"),
        (a_header_without_pixels(), 413, "too_large"),
        (bytes(4_000_001), 413, "file_too_large"),
        (a_picture("PNG", 8), 422, "too_small"),
    ],
)
async def test_a_file_that_is_no_usable_picture_is_named_however_it_is_sent(
    gateway: Gateway, content: bytes, status: int, code: str
) -> None:
    encoded = base64.b64encode(content).decode()
    async with gateway.client() as client:
        raw = await client.post(PREDICT, content=content, headers={"Content-Type": "image/jpeg"})
        form = await client.post(PREDICT, files={"file": ("a.jpg", content)})
        text = await client.post(PREDICT, json={"image": encoded})
    for answer in (raw, form, text):
        assert answer.json()["code"] == code, answer.text
        assert answer.status_code == status
    assert "a.jpg" in form.json()["detail"]


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff", '{"image": "äöü"}'.encode(), b'{"image": 7}', b"[]"])
async def test_json_for_a_prediction_that_cannot_be_used_is_the_callers_fault(gateway: Gateway, body: bytes) -> None:
    async with gateway.client() as client:
        answer = await client.post(PREDICT, content=body, headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_predicting_before_there_is_a_version_says_what_to_wait_for(gateway: Gateway) -> None:
    async with gateway.client() as client:
        early = await client.post("/v1/models/mdl_2/predict", files={"file": b"x"})
    assert is_problem(early, 404, "model_unknown")
    assert "first run" in early.json()["detail"]
