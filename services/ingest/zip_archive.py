"""Reads zip archives: zip64, streamed ones, and those with something in front of them."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from chassis.errors import PermanentError
from services.ingest.archive_kind import HEAD_BYTES, unreadable
from services.ingest.archive_names import zip_names
from services.ingest.archives import ArchiveLimits, Entry, EntryDamaged, EntryKind, Read

ENCRYPTED_FLAG = 0x1
_UNIX = 3
_KINDS: dict[int, EntryKind] = {stat.S_IFLNK: "symbolic_link"}
_SPECIAL = (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)

# What zipfile raises for an entry that is damaged or packed in a way it does not know.
_ENTRY_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, EOFError, OSError, RuntimeError, ValueError,
    OverflowError, IndexError,
)  # fmt: skip
_TABLE_FAULTS = (NotImplementedError, ValueError, struct.error, OverflowError, IndexError, OSError)


class ZipArchive:
    """Implements Archive. Entries can be read in any order, from several threads at once."""

    def __init__(self, path: Path, file_name: str, limits: ArchiveLimits) -> None:
        """Raises PermanentError that names what the file is instead of a zip archive."""
        self._zip = _opened(path, file_name)
        self._infos = self._zip.infolist()
        names = zip_names(self._infos) if len(self._infos) <= limits.entries else [""] * len(self._infos)
        self.entries = [_entry(place, *pair) for place, pair in enumerate(zip(self._infos, names, strict=True))]

    def text(self, entry: Entry) -> bytes:
        """See Archive."""
        return self._read(entry)

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Read]:
        """See Archive. Nothing is unpacked before it is called for."""
        return (partial(self._read, entry) for entry in wanted)

    def close(self) -> None:
        """See Archive."""
        self._zip.close()

    def _read(self, entry: Entry) -> bytes:
        try:
            return self._zip.read(self._infos[entry.place])
        except _ENTRY_FAULTS as error:
            raise EntryDamaged(str(error) or type(error).__name__) from error


def _opened(path: Path, file_name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        with path.open("rb") as file:
            code, sentence = unreadable(file.read(HEAD_BYTES), file_name)
        raise PermanentError(code, sentence) from error
    except _TABLE_FAULTS as error:
        sentence = f"{file_name}: the table of contents cannot be read ({error}); pack the archive again."
        raise PermanentError("damaged_archive", sentence) from error


def _entry(place: int, info: zipfile.ZipInfo, name: str) -> Entry:
    mode = stat.S_IFMT(info.external_attr >> 16) if info.create_system == _UNIX else 0
    kind: EntryKind = "folder" if name.endswith("/") else _KINDS.get(mode, "file")
    if mode in _SPECIAL:
        kind = "special_file"
    is_encrypted = bool(info.flag_bits & ENCRYPTED_FLAG)
    return Entry(name, place, info.file_size, info.compress_size, kind, is_encrypted)
