"""Reads tar archives, plain or packed with gzip, bzip2 or xz, in one pass each way and in bounded memory.

The first pass reads the names, the second the contents: a packed tar has no table of contents and no way back. Sizes
are known only on the way, so the limits are judged at every header, before what follows is unpacked.
"""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from chassis.errors import PermanentError
from services.ingest.archive_kind import HEAD_BYTES, Kind, is_tar, unreadable
from services.ingest.archive_names import tar_names
from services.ingest.archives import LIST_BYTES, SMALL_BYTES, ArchiveLimits, Entry, EntryDamaged, EntryKind, Read

Unpacked = BinaryIO | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
TAR_KINDS: dict[Kind, Callable[[Path], Unpacked]] = {
    "tar": lambda path: path.open("rb"),
    "gzip": gzip.GzipFile,
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_FAULTS = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError, IndexError)
_END_WORDS = ("unexpected end", "truncated header", "end of file")  # how tarfile says that data are missing
_BLOCK = 512
_PIECE = 100_000  # bytes
_LONGEST_READ = 64_000_000  # bytes at once; tarfile would read a header of any length whole


class _Stream:
    """The unpacked bytes, remembering the last that were read; nothing longer than _LONGEST_READ comes at once."""

    def __init__(self, file: Unpacked) -> None:
        self._file = file
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        """Raises ReadError for a length that no honest header has."""
        if size < 0 or size > _LONGEST_READ:
            raise tarfile.ReadError("a header of the archive is longer than any that is honest")
        self.last = self._file.read(size)
        return self.last

    def seek(self, offset: int, whence: int = 0) -> int:
        """Forward only, in effect: going back in a packed stream would begin anew."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The offset in the unpacked stream."""
        return self._file.tell()


class TarArchive:
    """Implements Archive."""

    def __init__(self, path: Path, kind: Kind, file_name: str, limits: ArchiveLimits) -> None:
        """Reads all headers. Raises PermanentError when the file is no tar archive, damaged or beyond the limits."""
        self._path, self._kind, self._file_name, self._limits = path, kind, file_name, limits
        self._texts: dict[int, bytes] = {}
        self._refuse_what_is_no_tar()
        members = self._scanned()
        names = tar_names(member.name for member in members)
        self.entries = [_entry(place, *pair) for place, pair in enumerate(zip(members, names, strict=True))]

    def text(self, entry: Entry) -> bytes:
        """See Archive."""
        return self._texts[entry.place]

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Read]:
        """See Archive. One after the other, in one pass over the archive."""
        waiting = iter(wanted)
        entry = next(waiting, None)
        with TAR_KINDS[self._kind](self._path) as file, _tar(_Stream(file)) as tar:
            for place, member in enumerate(tar):
                tar.members = []  # type: ignore[attr-defined]  # tarfile would keep every header for ever
                if entry is None:
                    return
                if place == entry.place:
                    yield _content(tar, member)
                    entry = next(waiting, None)

    def close(self) -> None:
        """See Archive. Each pass closes its own file."""

    def _refuse_what_is_no_tar(self) -> None:
        with self._path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        try:
            with TAR_KINDS[self._kind](self._path) as file:
                first = file.read(_BLOCK)
        except EOFError as error:
            raise self._broken_off() from error
        except _FAULTS as error:
            raise self._damaged(error) from error
        if not is_tar(first) and first.strip(b"\0"):
            raise PermanentError(*unreadable(head, self._file_name))

    def _scanned(self) -> list[tarfile.TarInfo]:
        members: list[tarfile.TarInfo] = []
        try:
            with TAR_KINDS[self._kind](self._path) as file:
                stream = _Stream(file)
                with _tar(stream) as tar:
                    total = 0
                    for member in tar:
                        tar.members = []  # type: ignore[attr-defined]  # as above
                        members.append(member)
                        total += max(member.size, 0)
                        self._judge(len(members), total)
                        self._keep_list(tar, member, len(members) - 1)
                    self._check_end(stream, total)
        except EOFError as error:
            raise self._broken_off() from error
        except tarfile.ReadError as error:
            if not members and "empty" in str(error):
                return []
            raise (self._broken_off() if _is_end(error) else self._damaged(error)) from error
        except _FAULTS as error:
            raise self._damaged(error) from error
        return members

    def _judge(self, count: int, total: int) -> None:
        if count > self._limits.entries:
            sentence = f"more than {self._limits.entries} entries; split it into several archives."
            raise PermanentError("too_many_entries", f"{self._file_name}: {sentence}")
        if total > self._limits.unpacked_bytes:
            sentence = f"it unpacks to more than {self._limits.unpacked_bytes / 1e9:.1f} GB; split it into several."
            raise PermanentError("archive_too_large", f"{self._file_name}: {sentence}")
        if total > SMALL_BYTES and total > self._limits.ratio * self._path.stat().st_size:
            sentence = f"it would unpack to more than {self._limits.ratio} times its size, as bombs do; pack it again."
            raise PermanentError("suspicious_compression", f"{self._file_name}: {sentence}")

    def _keep_list(self, tar: tarfile.TarFile, member: tarfile.TarInfo, place: int) -> None:
        """Image lists are read in the first pass: they say which of the others are samples."""
        if member.isreg() and member.name.lower().endswith(".csv") and member.size <= LIST_BYTES:
            self._texts[place] = _content(tar, member)()

    def _check_end(self, stream: _Stream, total: int) -> None:
        """tarfile takes a damaged header after the first for the end; checksums of packed data come behind all data."""
        if stream.last.strip(b"\0"):
            raise self._broken_off() if len(stream.last) < _BLOCK else self._damaged("a header is not one")
        while stream.read(_PIECE):
            total += _PIECE
            self._judge(0, total)

    def _broken_off(self) -> PermanentError:
        sentence = f"{self._file_name}: the archive breaks off before its end; upload it again."
        return PermanentError("truncated_archive", sentence)

    def _damaged(self, reason: object) -> PermanentError:
        sentence = f"{self._file_name}: the archive is damaged ({reason}); pack it again."
        return PermanentError("damaged_archive", sentence)


def _is_end(error: tarfile.ReadError) -> bool:
    return any(words in str(error) for words in _END_WORDS)


def _tar(stream: _Stream) -> tarfile.TarFile:
    readable: Any = stream
    return tarfile.TarFile(fileobj=readable, mode="r", encoding="utf-8", errors="surrogateescape")


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Read:
    try:
        file = tar.extractfile(member)
        content = b"" if file is None else file.read()
    except _FAULTS as error:
        reason = str(error) or type(error).__name__
        return lambda: _raise(reason)
    return lambda: content


def _raise(reason: str) -> bytes:
    raise EntryDamaged(reason)


def _entry(place: int, member: tarfile.TarInfo, name: str) -> Entry:
    kind: EntryKind = "file"
    if member.isdir():
        kind = "folder"
    elif member.issym():
        kind = "symbolic_link"
    elif member.islnk():
        kind = "hard_link"
    elif not member.isreg():
        kind = "special_file"
    return Entry(name, place, member.size, None, kind)
