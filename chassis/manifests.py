"""Parquet files that carry samples between services: raw chunks, chunk manifests and version manifests.

Classes travel in the file's schema metadata, so that a class id stays apart from the name people see.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.base import BlobRef, Split

CLASSES_KEY = b"easyloop.classes"
MEDIA_TYPE = "application/vnd.apache.parquet"

_RAW = pa.schema(
    [
        ("name", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("key", pa.string()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
        ("media_type", pa.string()),
    ]
)
_SAMPLES = pa.schema(
    [
        *_RAW,
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("notes", pa.list_(pa.string())),
        ("split", pa.string()),
        ("fingerprint", pa.string()),
    ]
)
_REJECTIONS = pa.schema([("name", pa.string()), ("code", pa.string()), ("sentence", pa.string())])


@dataclass(frozen=True)
class RawSample:
    """One entry of an archive as stored by ingest. `labels` are class names as their author wrote them."""

    name: str
    labels: tuple[str, ...]
    blob: BlobRef


@dataclass(frozen=True)
class Sample:
    """One decoded sample. `labels` are class ids, sizes pixels; `split` is None until its version closes.

    `fingerprint` is close for near duplicates (see `learning.task.Prepared`); empty where there is none.
    """

    name: str
    labels: tuple[str, ...]
    blob: BlobRef
    width: int
    height: int
    notes: tuple[str, ...] = ()
    split: Split | None = None
    fingerprint: str = ""

    def on_side(self, split: Split) -> "Sample":
        """The same sample with its side."""
        return replace(self, split=split)


@dataclass(frozen=True)
class ClassName:
    """A class of a data set: its lasting id and the name that people see."""

    id: str
    name: str

    @classmethod
    def named(cls, name: str) -> "ClassName":
        """The id is made once from the first name a class had."""
        return cls(f"cls_{hashlib.sha256(name.encode()).hexdigest()[:12]}", name)


@dataclass(frozen=True)
class Manifest:
    """Samples and the classes their labels name."""

    classes: tuple[ClassName, ...]
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Rejection:
    """One file that was refused, and why."""

    name: str
    code: str
    sentence: str


def write_raw(samples: Iterable[RawSample]) -> bytes:
    """A raw chunk."""
    return _parquet([{"name": s.name, "labels": list(s.labels), **_blob_row(s.blob)} for s in samples], _RAW)


def read_raw(content: bytes) -> list[RawSample]:
    """The inverse of `write_raw`."""
    return [RawSample(r["name"], tuple(r["labels"]), _blob(r)) for r in pq.read_table(io.BytesIO(content)).to_pylist()]


def write_manifest(manifest: Manifest) -> bytes:
    """Equal manifests give equal bytes, so that a redelivery stores the same blob."""
    rows = [_sample_row(sample) for sample in manifest.samples]
    classes = json.dumps([asdict(c) for c in manifest.classes], ensure_ascii=False).encode()
    return _parquet(rows, _SAMPLES.with_metadata({CLASSES_KEY: classes}))


def read_manifest(content: bytes) -> Manifest:
    """The inverse of `write_manifest`."""
    table = pq.read_table(io.BytesIO(content))
    classes = json.loads((table.schema.metadata or {})[CLASSES_KEY])
    return Manifest(tuple(ClassName(**c) for c in classes), tuple(_sample(row) for row in table.to_pylist()))


def write_rejections(rejections: Iterable[Rejection]) -> bytes:
    """Refused files."""
    return _parquet([asdict(rejection) for rejection in rejections], _REJECTIONS)


def read_rejections(content: bytes) -> list[Rejection]:
    """The inverse of `write_rejections`."""
    return [Rejection(**row) for row in pq.read_table(io.BytesIO(content)).to_pylist()]


def named_keys(content: bytes) -> list[str]:
    """The keys of all blobs that any of these files names; none for refused files."""
    file = pq.ParquetFile(io.BytesIO(content))
    if "key" not in file.schema_arrow.names:
        return []
    keys: list[str] = file.read(columns=["key"]).column("key").to_pylist()
    return keys


def _parquet(rows: Sequence[dict[str, object]], schema: pa.Schema) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def _blob_row(blob: BlobRef) -> dict[str, object]:
    return {"key": blob.key, "size": blob.size, "sha256": blob.sha256, "media_type": blob.media_type}


def _blob(row: dict[str, object]) -> BlobRef:
    return BlobRef.model_validate({name: row[name] for name in ("key", "size", "sha256", "media_type")})


def _sample_row(sample: Sample) -> dict[str, object]:
    return {
        "name": sample.name,
        "labels": list(sample.labels),
        **_blob_row(sample.blob),
        "width": sample.width,
        "height": sample.height,
        "notes": list(sample.notes),
        "split": sample.split,
        "fingerprint": sample.fingerprint,
    }


def _sample(row: dict[str, object]) -> Sample:
    parsed = {name: row[name] for name in ("name", "width", "height", "split")}
    parsed["fingerprint"] = row.get("fingerprint") or ""  # manifests of earlier releases have no such column
    return Sample(blob=_blob(row), labels=tuple(row["labels"]), notes=tuple(row["notes"]), **parsed)  # type: ignore[arg-type]  # rows of a Parquet file have the types of its schema
