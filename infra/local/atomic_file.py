"""Files that are either there as a whole or not at all."""

import os
from pathlib import Path

PRIVATE = 0o600
READABLE = 0o644


def write_atomically(path: Path, text: str, mode: int = READABLE) -> None:
    """Write `text` to `path` through a neighbour file and a rename; the file never has a wider mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    neighbour.unlink(missing_ok=True)
    descriptor = os.open(neighbour, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(neighbour, path)
