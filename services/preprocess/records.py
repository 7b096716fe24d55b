"""What preprocess owns: versions of data sets, and the chunks it has read of each."""

from datetime import datetime
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from chassis.records import StoredRecord
from schemas.base import AutoTrain, BlobRef, Failure, Split

Status = Literal["open", "ready", "rejected", "deleted"]


class ClassCount(BaseModel):
    """How many samples of a class the version holds."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    count: int


class FindingRecord(BaseModel):
    """What was noticed about the version as a whole, see `learning.task.Finding`; an error made it unusable."""

    model_config = ConfigDict(frozen=True)

    code: str
    severity: Literal["error", "warning", "info"]
    sentence: str
    remedy: str = ""
    count: int = 0
    share: float = 0.0
    examples: tuple[str, ...] = ()


class Version(StoredRecord):
    """One version of a data set, `<dataset>/<version>`. Open until every one of its chunks is read, then final.

    A rejected one keeps its samples: the next version adds to them, as it does to those of a ready one.
    `expected_chunks` is None until ingest has announced how many there are. `manifest` names every sample,
    `rejections` every file that was refused, by ingest or here (both Parquet). `archive_rejections` are ingest's alone.
    """

    COLLECTION: ClassVar[str] = "versions"

    dataset_id: str
    version: int
    task: str = ""
    auto_train: AutoTrain = "off"
    status: Status = "open"
    expected_chunks: int | None = None
    archive_rejections: BlobRef | None = None
    sample_count: int = 0
    rejected_count: int = 0
    manifest: BlobRef | None = None
    rejections: BlobRef | None = None
    classes: tuple[ClassCount, ...] = ()
    split_counts: dict[Split, int] = Field(default_factory=dict)
    findings: tuple[FindingRecord, ...] = ()
    failure: Failure | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Chunk(StoredRecord):
    """A chunk that was read, `<dataset>/<version>/<chunk>`; it is there once however often its event arrives."""

    COLLECTION: ClassVar[str] = "chunks"

    dataset_version: str
    chunk: int
    manifest: BlobRef
    rejections: BlobRef | None
    sample_count: int
    rejected_count: int
    created_at: datetime


def version_id(dataset_id: str, version: int) -> str:
    """The id of a version's record."""
    return f"{dataset_id}/{version}"
