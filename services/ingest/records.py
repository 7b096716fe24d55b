"""What ingest owns: data sets, the imports into them, and the chunks it has announced."""

from datetime import datetime
from typing import ClassVar, Literal

from chassis.records import StoredRecord
from schemas.base import AutoTrain, BlobRef, Failure


class Dataset(StoredRecord):
    """A data set; `next_version` is the number its next import gets. It stays, marked, when the data set is deleted."""

    COLLECTION: ClassVar[str] = "datasets"

    name: str
    task: str
    auto_train: AutoTrain
    next_version: int = 1
    created_at: datetime
    deleted_at: datetime | None = None


class Import(StoredRecord):
    """One archive on its way into a data set. What it holds becomes `version`; `chunk_count` of chunks make it whole.

    `rejections` (Parquet) names each entry that was refused and why.
    """

    COLLECTION: ClassVar[str] = "imports"

    dataset_id: str
    file_name: str
    status: Literal["accepted", "ingested", "rejected"]
    version: int
    failure: Failure | None = None
    chunk_count: int = 0
    sample_count: int = 0
    rejected_count: int = 0
    rejections: BlobRef | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Chunk(StoredRecord):
    """A chunk of raw samples that was announced; `<dataset>/<version>/<chunk>` is its id, so it is announced once."""

    COLLECTION: ClassVar[str] = "chunks"

    dataset_version: str
    chunk: int
    samples: BlobRef
    sample_count: int
