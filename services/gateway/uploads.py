"""Uploads in parts: what is remembered of them, and how a file is cut."""

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from chassis.blobs.sessions import MAX_PARTS, Part, Session
from chassis.documents.ports import Documents, Index
from chassis.records import StoredRecord

PART_BYTES = 16 << 20
MEDIA_TYPE = "application/zip"


class ArrivedPart(BaseModel):
    """A part that lies in the object store; `tag` is its mark of the content, so that the last one sent counts."""

    model_config = ConfigDict(frozen=True)

    size: int
    tag: str


class Upload(StoredRecord):
    """A file on its way in, part by part. `session_id` and `key` name the session in the object store.

    `parts` holds those that arrived by number (text, as documents want it), `import_id` is set once it was completed.
    Times are RFC 3339 text; after `expires_at` nothing of it is kept.
    """

    COLLECTION: ClassVar[str] = "uploads"

    dataset_id: str
    file_name: str
    label: str | None = None
    size: int
    part_size: int
    key: str
    session_id: str
    status: Literal["open", "completed"] = "open"
    parts: Mapping[str, ArrivedPart] = Field(default_factory=dict)
    import_id: str | None = None
    created_at: str
    expires_at: str

    @property
    def session(self) -> Session:
        """As the object store wants it."""
        return Session(self.key, self.session_id)

    @property
    def part_count(self) -> int:
        """How many parts make the file."""
        return math.ceil(self.size / self.part_size)

    @property
    def arrived(self) -> list[Part]:
        """The parts that are there, by number."""
        found = [Part(int(number), part.size, part.tag) for number, part in self.parts.items()]
        return sorted(found, key=lambda part: part.number)

    @property
    def missing(self) -> set[int]:
        """Numbers of the parts that are not."""
        return set(range(1, self.part_count + 1)) - {part.number for part in self.arrived}

    def length_of(self, number: int) -> int:
        """Bytes of that part; all but the last have `part_size`."""
        return min(self.part_size, self.size - (number - 1) * self.part_size)


async def note_part(documents: Documents, upload_id: str, part: Part) -> bool:
    """Remember that it arrived, in place of an earlier one of that number; False when the upload is not open."""
    changes = {f"parts.{part.number}": {"size": part.size, "tag": part.tag}}
    return await documents.update(Upload.COLLECTION, upload_id, changes, expected={"status": "open"})


INDEXES = (
    Index(Upload.COLLECTION, ("dataset_id", "status")),
    Index(Upload.COLLECTION, ("expires_at",)),
)


def part_size_of(size: int) -> int:
    """Bytes of a part for a file of `size` bytes: small enough to be sent again, and never more parts than S3 takes."""
    megabyte = 1 << 20
    return max(PART_BYTES, math.ceil(size / MAX_PARTS / megabyte) * megabyte)


def in_words(numbers: Iterable[int]) -> str:
    """Part numbers as people write them: `1, 4 to 9, 12`, the first few where there are many."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs[:20]]
    return ", ".join(shown) + (", and more" if len(runs) > 20 else "")
