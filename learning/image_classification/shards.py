"""A shard: the features, and where wanted the maps, of some pictures in one file that can be mapped into memory.

Layout: a line of JSON (what `ShardHeader` says) padded with blanks to whole pages of 4096 bytes; then for each picture
and view, in order, the features followed by the map, all float16.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.errors import ArtefactInvalidError
from learning.study import Json

_PAGE = 4096
_FORMAT = "easyloop features 1"


@dataclass(frozen=True)
class ShardHeader:
    """recipe: what the numbers were computed by, backbone included; dimensions: of features; map_size: 0 for none."""

    recipe: Json
    shas: tuple[str, ...]
    views: int
    dimensions: int
    map_size: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Pictures, views, numbers of a view."""
        return len(self.shas), self.views, self.dimensions + self.map_size

    def to_bytes(self) -> bytes:
        """Whole pages."""
        text = json.dumps({"format": _FORMAT, **asdict(self)}).encode()
        size = -(-(len(text) + 1) // _PAGE) * _PAGE
        return text.ljust(size - 1) + b"\n"


def write_shard(path: Path, header: ShardHeader, rows: Iterable[NDArray[np.float16]]) -> None:
    """Stream the rows, each [views, dimensions + map_size] and in the order of the header's shas."""
    with path.open("wb") as file:
        file.write(header.to_bytes())
        for row in rows:
            file.write(row.astype(np.float16, copy=False).tobytes())


def read_header(path: Path) -> tuple[ShardHeader, int]:
    """The header and the offset of the numbers in bytes. Raises ArtefactInvalidError for what is damaged."""
    try:
        with path.open("rb") as file:
            line = file.readline()
        document = json.loads(line)
        if document.pop("format") != _FORMAT:
            raise ValueError("another format")
        header = ShardHeader(**{**document, "shas": tuple(document["shas"])})
        expected = len(line) + 2 * int(np.prod(header.shape))
        if path.stat().st_size != expected:
            raise ValueError(f"{path.stat().st_size} bytes instead of {expected}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sentence = f"The feature file {path.name} cannot be read ({error}); compute the features again."
        raise ArtefactInvalidError("features_damaged", sentence) from error
    return header, len(line)


def map_rows(path: Path) -> NDArray[np.float16]:
    """The numbers as a read-only memory map, [pictures, views, dimensions + map_size]."""
    header, offset = read_header(path)
    return np.memmap(path, np.float16, "r", offset, header.shape)
