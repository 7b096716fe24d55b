"""Large files: sent in parts, gone on with after the line, the platform or the command itself broke off."""

import base64
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from easyloop.errors import EasyLoopError
from easyloop.uploading import WHOLE_BYTES
from tests.unit.easyloop.platform import DATASET, IMPORT, FakePlatform, a_problem

PART = 20_000_000
SIZE = WHOLE_BYTES + 1
COUNT = 4


@dataclass
class Receiver:
    """The part of the platform that takes parts; `faults` come first, one a part that is sent."""

    platform: FakePlatform
    faults: list[httpx.Response | httpx.TransportError] = field(default_factory=list)
    parts: dict[int, bytes] = field(default_factory=dict)
    puts: list[int] = field(default_factory=list)
    completed: int = 0

    def __post_init__(self) -> None:
        self.platform.on("POST /v1/datasets/ds_1/uploads", self._view)
        self.platform.on("GET /v1/uploads/upl_1", self._view)
        self.platform.on("POST /v1/uploads/upl_1/complete", self._complete)
        for number in range(1, COUNT + 1):
            self.platform.on(f"PUT /v1/uploads/upl_1/parts/{number}", self._put)

    def _view(self, request: httpx.Request) -> httpx.Response:
        view = {"id": "upl_1", "dataset_id": "ds_1", "file_name": "large.zip", "size": SIZE, "part_size": PART}
        parts = [{"number": number, "size": len(content)} for number, content in self.parts.items()]
        return httpx.Response(200, json={**view, "part_count": COUNT, "status": "open", "parts": parts})

    def _put(self, request: httpx.Request) -> httpx.Response:
        number = int(request.url.path.rsplit("/", 1)[1])
        self.puts.append(number)
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, httpx.TransportError):
                raise fault
            return fault
        digest = base64.b64encode(hashlib.sha256(request.content).digest()).decode()
        assert request.headers["content-digest"] == f"sha-256=:{digest}:"
        assert request.headers["content-length"] == str(len(request.content))
        self.parts[number] = request.content
        return httpx.Response(200, json={})

    def _complete(self, request: httpx.Request) -> httpx.Response:
        self.completed += 1
        return httpx.Response(202, json=IMPORT)

    @property
    def content(self) -> bytes:
        return b"".join(self.parts[number] for number in sorted(self.parts))


@pytest.fixture
def platform() -> FakePlatform:
    platform = FakePlatform()
    platform.on("POST /v1/datasets", DATASET)
    platform.on("GET /v1/datasets/ds_1", DATASET)
    return platform


@pytest.fixture
def receiver(platform: FakePlatform) -> Receiver:
    return Receiver(platform)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    archive = tmp_path / "large.zip"
    with archive.open("wb") as file:
        for number in range(COUNT):
            file.seek(number * PART)
            file.write(f"part {number}".encode())
        file.truncate(SIZE)
    return archive


@dataclass(frozen=True)
class CommandLine:
    """`easyloop data upload` of one user."""

    platform: FakePlatform

    def upload(self, archive: Path, *options: str) -> Result:
        arguments = ["data", "upload", str(archive), "--auto-train", "off", *options]
        return CliRunner().invoke(app, arguments, obj=self.platform.client)


@pytest.fixture
def command(platform: FakePlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return CommandLine(platform)


def test_a_large_file_arrives_in_parts(platform: FakePlatform, receiver: Receiver, large: Path) -> None:
    sent: list[int] = []
    with platform.client() as client:
        assert client.upload("ds_1", large, sent.append).id == "imp_1"
    assert receiver.content == large.read_bytes()
    assert (sent[-1], sent == sorted(sent), receiver.completed) == (SIZE, True, 1)


@pytest.mark.parametrize(
    "fault",
    [
        httpx.ReadError("connection reset"),
        httpx.ConnectError("connection refused"),
        a_problem(503, "blobs_unavailable", "Wait."),
        a_problem(400, "digest_wrong", "It arrived damaged."),
        a_problem(408, "body_stalled", "Nothing came."),
    ],
    ids=["reset", "refused", "store-away", "damaged", "stalled"],
)
def test_a_part_that_fails_is_sent_again(
    platform: FakePlatform, receiver: Receiver, large: Path, fault: httpx.Response | httpx.TransportError
) -> None:
    receiver.faults = [fault, fault]
    with platform.client() as client:
        client.upload("ds_1", large)
    assert receiver.content == large.read_bytes()
    assert receiver.puts == [1, 1, 1, 2, 3, 4]


def test_what_would_fail_again_is_told(platform: FakePlatform, receiver: Receiver, large: Path) -> None:
    receiver.faults = [a_problem(409, "upload_lost", "Begin a new one.")]
    with platform.client() as client, pytest.raises(EasyLoopError, match="Begin a new one"):
        client.upload("ds_1", large)
    assert receiver.puts == [1]


def broken_off(receiver: Receiver, command: CommandLine, large: Path) -> None:
    """A call that ended after two parts, as if it had been killed."""
    receiver.faults = [a_problem(409, "killed", "As if the command had been killed here.")]
    assert command.upload(large).exit_code == 1
    receiver.parts = {1: large.read_bytes()[:PART], 2: large.read_bytes()[PART : 2 * PART]}
    receiver.puts.clear()


def data_sets_made(platform: FakePlatform) -> int:
    return sum(asked.method == "POST" and asked.url.path == "/v1/datasets" for asked in platform.asked)


def test_a_command_that_was_killed_goes_on_where_it_was(
    platform: FakePlatform, receiver: Receiver, large: Path, command: CommandLine
) -> None:
    broken_off(receiver, command, large)
    result = command.upload(large)
    assert result.exit_code == 0, result.output
    assert "2 of 4 parts are there" in result.output
    assert (receiver.puts, receiver.content) == ([3, 4], large.read_bytes())
    assert data_sets_made(platform) == 1
    assert "parts are there" not in command.upload(large).output


def test_a_file_that_was_changed_meanwhile_begins_anew(
    platform: FakePlatform, receiver: Receiver, large: Path, command: CommandLine
) -> None:
    broken_off(receiver, command, large)
    receiver.parts.clear()
    os.utime(large, ns=(0, 0))
    assert command.upload(large).exit_code == 0
    assert (receiver.puts, data_sets_made(platform)) == ([1, 2, 3, 4], 2)


@pytest.mark.parametrize("gone", ["GET /v1/uploads/upl_1", "GET /v1/datasets/ds_1"])
def test_an_upload_that_the_platform_gave_up_begins_anew(
    platform: FakePlatform, receiver: Receiver, large: Path, command: CommandLine, gone: str
) -> None:
    broken_off(receiver, command, large)
    receiver.parts.clear()
    platform.on(gone, a_problem(404, "gone", "It is gone."))
    assert command.upload(large).exit_code == 0
    assert (receiver.puts, data_sets_made(platform)) == ([1, 2, 3, 4], 2)


def test_one_that_was_completed_before_the_command_was_killed_is_not_sent_again(
    platform: FakePlatform, receiver: Receiver, large: Path, command: CommandLine
) -> None:
    broken_off(receiver, command, large)
    view = {"id": "upl_1", "dataset_id": "ds_1", "file_name": "large.zip", "size": SIZE, "part_size": PART}
    platform.on("GET /v1/uploads/upl_1", {**view, "part_count": COUNT, "status": "completed", "import_id": "imp_1"})
    result = command.upload(large)
    assert (result.exit_code, receiver.puts, receiver.completed) == (0, [], 1)
    assert "import imp_1" in result.output


def test_a_small_file_leaves_nothing_behind(platform: FakePlatform, tmp_path: Path, command: CommandLine) -> None:
    platform.on("POST /v1/datasets/ds_1/imports", IMPORT)
    archive = tmp_path / "small.zip"
    archive.write_bytes(b"PK")
    assert command.upload(archive).exit_code == 0
    assert not (tmp_path / "config").exists()
