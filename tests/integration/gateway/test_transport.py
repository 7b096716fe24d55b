"""Clients that break the rules of HTTP, or just off: the gateway answers, keeps nothing of theirs, and goes on."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.gateway.running import KEY, Running, running_gateway
from tests.servers import LocalServers

IDLE_S = 2.0
ANSWER_S = 20.0
LARGE = bytes(300_000)


@pytest.fixture(scope="module")
def gateway(local_servers: LocalServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("gateway")
    with running_gateway(local_servers, folder, EASYLOOP_UPLOAD_IDLE_S=str(IDLE_S)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def dataset(gateway: Running) -> str:
    answer = httpx.post(f"{gateway.platform.url}/v1/datasets", json={"name": "fruit"}, headers=_key())
    return str(answer.json()["id"])


@pytest.fixture(autouse=True)
def still_well(gateway: Running) -> Iterator[None]:
    """Whatever a client did, the next one is served and nothing is left in scratch."""
    yield
    assert httpx.get(f"{gateway.platform.url}/v1/datasets", headers=_key(), timeout=ANSWER_S).status_code == 200
    scratch = gateway.data_dir / "scratch"
    _until(lambda: not scratch.exists() or not list(scratch.glob("upload-*")), "scratch is empty")


def _key() -> dict[str, str]:
    return {"Authorization": f"Bearer {KEY}"}


def _until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + ANSWER_S
    while not holds():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.05)


class Caller:
    """Speaks to the gateway in bytes."""

    def __init__(self, gateway: Running) -> None:
        url = httpx.URL(gateway.platform.url)
        self.socket = socket.create_connection((url.host, url.port or 80), timeout=ANSWER_S)

    def send(self, address: str, *headers: str, body: bytes = b"") -> None:
        lines = [f"POST {address} HTTP/1.1", "Host: gateway", f"Authorization: Bearer {KEY}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode() + body)

    def close(self) -> None:
        self.socket.close()

    def answer(self) -> tuple[int, dict[str, Any] | None]:
        """Status and JSON of one answer."""
        with self.socket.makefile("rb") as stream:
            status = int(stream.readline().split()[1])
            length = 0
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            content = stream.read(length)
        return status, json.loads(content) if content.startswith(b"{") else None

    def is_closed(self) -> bool:
        """Whether the gateway has closed the connection."""
        return self.socket.recv(1) == b""


@pytest.fixture
def caller(gateway: Running) -> Iterator[Caller]:
    with closing(Caller(gateway)) as caller:
        yield caller


def _uploads(gateway: Running) -> list[Path]:
    return list((gateway.data_dir / "scratch").glob("upload-*"))


def test_an_upload_cut_off_in_the_middle_leaves_nothing(gateway: Running, caller: Caller, dataset: str) -> None:
    caller.send(f"/v1/datasets/{dataset}/imports", "Content-Length: 600000", body=LARGE)
    _until(lambda: _uploads(gateway), "the upload is being received")
    caller.close()
    _until(lambda: not _uploads(gateway), "the upload is given up")


def test_an_upload_that_ends_before_its_announced_length_is_400(caller: Caller, dataset: str) -> None:
    caller.send(f"/v1/datasets/{dataset}/imports", "Content-Length: 600000", body=LARGE)
    caller.socket.shutdown(socket.SHUT_WR)
    received = caller.socket.recv(100)
    assert received == b"" or received.split()[1] == b"400"


@pytest.mark.parametrize("address", ["/v1/datasets/{}/imports", "/v1/datasets"])
def test_a_client_that_stalls_is_answered_408_and_cut_off(caller: Caller, dataset: str, address: str) -> None:
    kind = "Content-Type: application/json" if address == "/v1/datasets" else "Content-Type: application/zip"
    caller.send(address.format(dataset), kind, "Content-Length: 600000", body=b'{"name": ')
    began = time.monotonic()
    status, problem = caller.answer()
    assert (status, problem and problem["code"]) == (408, "body_stalled")
    assert time.monotonic() - began >= IDLE_S * 0.9
    assert caller.is_closed()


def test_a_slow_but_steady_client_is_served(caller: Caller, dataset: str) -> None:
    pieces = 12
    caller.send(f"/v1/datasets/{dataset}/imports", f"Content-Length: {1000 * pieces}")
    for _ in range(pieces):
        time.sleep(IDLE_S / 8)  # in sum longer than a client may be silent at a time
        caller.socket.sendall(bytes(1000))
    status, imported = caller.answer()
    assert (status, imported and imported["size"]) == (202, 1000 * pieces)


def test_more_than_the_announced_length_is_cut_there_and_ends_the_connection(caller: Caller, dataset: str) -> None:
    caller.send(f"/v1/datasets/{dataset}/imports", "Content-Length: 4", body=b"PK12 and this is no request\r\n\r\n")
    status, imported = caller.answer()
    assert (status, imported and imported["size"]) == (202, 4)


def test_a_chunked_upload_is_taken(caller: Caller, dataset: str) -> None:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (b"PK", LARGE, b"end"))
    caller.send(f"/v1/datasets/{dataset}/imports", "Transfer-Encoding: chunked", body=chunks + b"0\r\n\r\n")
    status, imported = caller.answer()
    assert (status, imported and imported["size"]) == (202, len(LARGE) + 5)


def test_a_chunked_upload_with_a_broken_chunk_is_400(caller: Caller, dataset: str) -> None:
    body = b"2\r\nPK\r\nzz\r\nnonsense\r\n"
    caller.send(f"/v1/datasets/{dataset}/imports", "Transfer-Encoding: chunked", body=body)
    status, _ = caller.answer()
    assert status == 400


@pytest.mark.parametrize(
    "head",
    [b"nonsense\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"],
)
def test_what_is_no_request_is_refused(caller: Caller, head: bytes) -> None:
    caller.socket.sendall(head)
    caller.socket.shutdown(socket.SHUT_WR)
    answer = caller.socket.recv(100)
    assert answer == b"" or int(answer.split()[1]) < 500


def test_headers_without_end_are_refused(caller: Caller) -> None:
    caller.socket.sendall(b"GET /v1/datasets HTTP/1.1\r\nHost: gateway\r\nX-Long: ")
    try:
        for _ in range(64):
            caller.socket.sendall(b"x" * 65536)
        answer = caller.socket.recv(100)
    except ConnectionError:
        return  # cut off, before it had to be read to its end
    assert answer == b"" or answer.split()[1] == b"400"
