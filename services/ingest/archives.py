"""An archive as the import sees it, whatever its format; the readers are in `zip_archive` and `tar_archive`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

EntryKind = Literal["file", "folder", "symbolic_link", "hard_link", "special_file"]
Read = Callable[[], bytes]
"""Gives the content of an entry. Raises EntryDamaged."""


class EntryDamaged(Exception):
    """One entry cannot be unpacked; the message says why."""


@dataclass(frozen=True)
class Entry:
    """One line of an archive's table of contents. `name` is decoded, composed (NFC), with `/` between folders.

    Sizes are bytes; `packed_size` is None where entries are not packed one by one. `place` is the reader's own.
    """

    name: str
    place: int
    size: int
    packed_size: int | None = None
    kind: EntryKind = "file"
    is_encrypted: bool = False


@dataclass(frozen=True)
class ArchiveLimits:
    """Sizes in bytes. `ratio`: what is over 1 MB may unpack to at most so many times its packed size."""

    entries: int = 500_000
    unpacked_bytes: int = 50_000_000_000
    sample_bytes: int = 25_000_000
    ratio: int = 200


SMALL_BYTES = 1_000_000  # below this nothing is a bomb, whatever its ratio
LIST_BYTES = 50_000_000  # longest image list that is read


class Archive(Protocol):
    """Open on the local disk. Contents are never all in memory."""

    @property
    def entries(self) -> Sequence[Entry]:
        """In the order of the archive."""

    def text(self, entry: Entry) -> bytes:
        """The content of an image list of at most LIST_BYTES. Raises EntryDamaged."""

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Read]:
        """One way to the content an entry, in order. `wanted` is in the order of the archive.

        Where only one pass is possible the content is there already; take the next when this one is done with.
        """

    def close(self) -> None:
        """Idempotent."""
