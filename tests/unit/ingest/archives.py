"""Archives as they are found in the field, byte for byte where it matters, and their import over fakes."""

import io
import itertools
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chassis.blobs.fake import FakeBlobStore
from chassis.manifests import RawSample, Rejection, read_raw, read_rejections
from schemas.base import BlobRef
from services.ingest.archives import ArchiveLimits
from services.ingest.import_job import ArchiveImport

UTF8 = 0x800
ENCRYPTED = 0x1
SYMLINK = 0o120777 << 16
CONTENT = b"content of a sample"
_numbers = itertools.count()


class _Entry(zipfile.ZipInfo):
    """An entry whose name is written as given, with the given flags."""

    def __init__(self, raw: bytes, flags: int) -> None:
        super().__init__(f"entry-{next(_numbers)}", (2020, 1, 1, 0, 0, 0))
        self._raw = raw
        self._flags = flags

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - zipfile's own name
        return self._raw, self._flags


@dataclass(frozen=True)
class Entry:
    """One entry of an archive to be made. `name` in bytes is written as it is, in text as UTF-8 and flagged so."""

    name: str | bytes
    content: bytes = CONTENT
    flags: int = 0
    attributes: int = 0
    extra: bytes = b""
    packed: int = zipfile.ZIP_STORED

    def write(self, archive: zipfile.ZipFile) -> None:
        """Append it."""
        is_text = isinstance(self.name, str)
        raw = self.name.encode() if isinstance(self.name, str) else self.name
        info = _Entry(raw, self.flags | (UTF8 if is_text else 0))
        info.compress_type = self.packed
        info.create_system = 3
        info.external_attr = self.attributes
        info.extra = self.extra
        archive.writestr(info, self.content)


def zipped(*entries: Entry | str | bytes) -> bytes:
    """A zip archive; a bare name stands for an entry with contents of its own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, entry in enumerate(entries):
            whole = entry if isinstance(entry, Entry) else Entry(entry, f"content {number}".encode())
            whole.write(archive)
    return buffer.getvalue()


def unicode_path(raw: bytes, name: str) -> bytes:
    """The extra field 0x7075 for an entry whose plain name is `raw`."""
    body = struct.pack("<BL", 1, zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body


@dataclass
class Imported:
    """What came of an import."""

    result: dict[str, Any]
    chunks: list[dict[str, Any]] = field(default_factory=list)
    samples: list[RawSample] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)

    @property
    def labels(self) -> dict[str, str]:
        """Sample name to label."""
        return {sample.name: sample.labels[0] for sample in self.samples}

    @property
    def codes(self) -> dict[str, str]:
        """Refused name to code."""
        return {rejection.name: rejection.code for rejection in self.rejections}


def run_import(
    content: bytes, scratch: Path, limits: ArchiveLimits | None = None, blobs: FakeBlobStore | None = None
) -> Imported:
    """Import an archive of pictures over a fake blob store."""
    blobs = blobs or FakeBlobStore()
    order = an_order(blobs.put("prj_default", content, "application/zip"))
    said: list[dict[str, Any]] = []
    result = ArchiveImport(blobs, limits or ArchiveLimits(), scratch).run(order, said.append)
    chunks = [message["chunk"] for message in said]
    rejections = result["counts"]["rejections"]
    return Imported(
        result,
        chunks,
        samples_of(chunks, blobs),
        [] if rejections is None else read_rejections(blobs.get(BlobRef.model_validate(rejections))),
    )


def an_order(archive: BlobRef) -> dict[str, Any]:
    """The arguments of an import job."""
    return {
        "project_id": "prj_default",
        "file_name": "photos.zip",
        "task": "image_classification",
        "archive": archive.model_dump(mode="json"),
    }


def samples_of(chunks: Sequence[dict[str, Any]], blobs: FakeBlobStore) -> list[RawSample]:
    """The samples of all chunks, in order."""
    return [sample for chunk in chunks for sample in read_raw(blobs.get(BlobRef.model_validate(chunk["samples"])))]
