"""Streaming to disk and reading forms as they come."""

import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from services.gateway.multipart import MultipartReader, PartBegun, PartData, PartEnded
from services.gateway.receiving import TooLarge, received

MIB = 1 << 20


async def pieces(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield bytes([number % 256]) * 65536


async def test_an_upload_never_lies_in_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        async with received(pieces(1024), tmp_path, 100 * MIB) as upload:
            _, peak = tracemalloc.get_traced_memory()
            content = upload.path.read_bytes()
    finally:
        tracemalloc.stop()
    assert upload.size == 64 * MIB == len(content)
    assert upload.sha256 == hashlib.sha256(content).hexdigest()
    assert peak < 8 * MIB
    assert list(tmp_path.iterdir()) == []


async def test_a_client_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    async def breaks_off() -> AsyncIterator[bytes]:
        async for piece in pieces(40):
            yield piece
        raise ClientDisconnect

    with pytest.raises(ClientDisconnect):
        async with received(breaks_off(), tmp_path, 100 * MIB):
            pytest.fail("the block must not run")
    assert list(tmp_path.iterdir()) == []


async def test_one_byte_too_many_ends_it(tmp_path: Path) -> None:
    async with received(pieces(1), tmp_path, 65536):
        pass
    with pytest.raises(TooLarge):
        async with received(pieces(1), tmp_path, 65535):
            pytest.fail("the block must not run")


@given(content=st.binary(max_size=300), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_a_form_reads_the_same_however_it_is_cut(content: bytes, cuts: list[int]) -> None:
    head = b'--XyZ\r\nContent-Disposition: form-data; name="file"; filename="a b.zip"\r\n\r\n'
    body = head + content + b"\r\n--XyZ--\r\n"
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    reader = MultipartReader(b"XyZ")
    events = [event for a, b in pairwise(edges) for event in reader.feed(body[a:b])]
    reader.finish()
    assert events[0] == PartBegun("file", "a b.zip")
    assert events[-1] == PartEnded()
    assert b"".join(event.content for event in events if isinstance(event, PartData)) == content
