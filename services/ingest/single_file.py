"""A bare file with a label, uploaded without an archive around it."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from services.ingest.archives import Entry, Read


class SingleFile:
    """Implements Archive: one entry, in no folder, under the name it was uploaded as."""

    def __init__(self, path: Path, file_name: str, extension: str) -> None:
        """`extension` is that of its content; a name that has one already keeps it, unless it is an archive's."""
        self._path = path
        name = PurePosixPath(file_name.replace("\\", "/")).name or "file"
        if PurePosixPath(name).suffix.lower() in ("", ".zip"):
            name += extension
        self.entries = [Entry(name, 0, path.stat().st_size)]

    def text(self, entry: Entry) -> bytes:
        """See Archive."""
        return self._path.read_bytes()

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Read]:
        """See Archive."""
        return (self._path.read_bytes for _ in wanted)

    def close(self) -> None:
        """See Archive. Nothing is held open."""
