"""Receiving an upload: to a file in scratch, hashed on the way, in bounded memory; gone again whatever happens."""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

FLUSH_BYTES = 1 << 20


class TooLarge(Exception):
    """More bytes came than are allowed."""


@dataclass(frozen=True)
class Received:
    """A file that was received in full; `sha256` in lower-case hex, `size` in bytes."""

    path: Path
    sha256: str
    size: int


class _Sink:
    """Hashes and writes; called from a thread, one call at a time."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, content: bytes) -> None:
        self._hash.update(content)
        self._target.write(content)
        self.size += len(content)

    def sha256(self) -> str:
        return self._hash.hexdigest()


@asynccontextmanager
async def received(chunks: AsyncIterable[bytes], scratch: Path, limit: int) -> AsyncIterator[Received]:
    """The file while the block runs. Raises TooLarge as soon as more than `limit` bytes came."""
    folder = Path(await asyncio.to_thread(_new_folder, scratch))
    try:
        path = folder / "upload"
        with path.open("wb") as target:
            sink = _Sink(target)
            await _pour(chunks, sink, limit)
        yield Received(path, sink.sha256(), sink.size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _new_folder(scratch: Path) -> str:
    scratch.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(prefix="upload-", dir=scratch)


async def _pour(chunks: AsyncIterable[bytes], sink: _Sink, limit: int) -> None:
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        if sink.size + len(waiting) > limit:
            raise TooLarge
        if len(waiting) >= FLUSH_BYTES:
            await asyncio.to_thread(sink.write, bytes(waiting))
            waiting.clear()
    await asyncio.to_thread(sink.write, bytes(waiting))
