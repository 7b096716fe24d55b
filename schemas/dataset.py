"""Data sets on their way from an archive to an immutable version. Written by ingest and preprocess."""

from typing import ClassVar

from pydantic import NonNegativeInt, PositiveInt

from schemas.base import AutoTrain, BlobRef, Event, Failure, Split


class DatasetCreated(Event):
    """The data set exists and takes imports."""

    TYPE: ClassVar[str] = "easyloop.dataset.created.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    name: str
    task: str
    auto_train: AutoTrain


class ImportAccepted(Event):
    """The archive is being read; what it holds becomes `version`."""

    TYPE: ClassVar[str] = "easyloop.import.accepted.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    import_id: str
    version: PositiveInt


class ImportRejected(Event):
    """Nothing of the archive could be used."""

    TYPE: ClassVar[str] = "easyloop.import.rejected.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    import_id: str
    version: PositiveInt
    failure: Failure


class SamplesIngested(Event):
    """A chunk of raw samples is stored. `samples` is a Parquet file: name, label, raw blob key, sha256, size."""

    TYPE: ClassVar[str] = "easyloop.samples.ingested.v1"

    dataset_id: str
    version: PositiveInt
    chunk: NonNegativeInt
    task: str
    samples: BlobRef
    sample_count: NonNegativeInt

    @property
    def key(self) -> str:
        """Chunks spread over the partitions; a version closes by count, not by order."""
        return f"{self.dataset_id}/{self.version}/{self.chunk}"


class DatasetVersionIngested(Event):
    """Every chunk of the version has been emitted; `chunk_count` of them make it whole.

    `rejections` is a Parquet file of the archive's entries that were refused: name, code, sentence.
    """

    TYPE: ClassVar[str] = "easyloop.dataset.version.ingested.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    version: PositiveInt
    import_id: str
    task: str
    auto_train: AutoTrain
    chunk_count: PositiveInt
    sample_count: PositiveInt
    rejected_count: NonNegativeInt
    rejections: BlobRef | None = None


class SamplesPreprocessed(Event):
    """Each sample of the chunk was decoded in full; the good ones are rows of `manifest` (Parquet)."""

    TYPE: ClassVar[str] = "easyloop.samples.preprocessed.v1"

    dataset_id: str
    version: PositiveInt
    chunk: NonNegativeInt
    manifest: BlobRef
    sample_count: NonNegativeInt
    rejected_count: NonNegativeInt

    @property
    def key(self) -> str:
        """As of the chunk it was made from."""
        return f"{self.dataset_id}/{self.version}/{self.chunk}"


class DatasetVersionReady(Event):
    """Every sample of the version is decoded, checked and stored; the manifest never changes."""

    TYPE: ClassVar[str] = "easyloop.dataset.version.ready.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    version: PositiveInt
    task: str
    auto_train: AutoTrain
    manifest: BlobRef
    sample_count: PositiveInt
    rejected_count: NonNegativeInt
    class_count: PositiveInt
    split_counts: dict[Split, NonNegativeInt]


class DatasetVersionRejected(Event):
    """The version cannot be trained on; the reason says what to do."""

    TYPE: ClassVar[str] = "easyloop.dataset.version.rejected.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    version: PositiveInt
    failure: Failure
