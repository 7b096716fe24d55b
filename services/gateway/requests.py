"""What people asked for, kept from the moment it was accepted, so that a caller always reads its own writes."""

from typing import ClassVar, Literal

from chassis.documents.ports import Index
from chassis.records import StoredRecord
from schemas.base import AutoTrain, BlobRef, Failure, Preset
from schemas.search import SearchSpace


class DatasetRequest(StoredRecord):
    """A data set that was asked for. Times are RFC 3339 text."""

    COLLECTION: ClassVar[str] = "dataset_requests"

    name: str
    task: str
    auto_train: AutoTrain
    created_at: str


class ImportRequest(StoredRecord):
    """An archive that was received in full. `archive` is None while the parts of an upload are put together.

    `failure` is set when that went wrong, so that nobody else has heard of the import.
    """

    COLLECTION: ClassVar[str] = "import_requests"

    dataset_id: str
    file_name: str
    archive: BlobRef | None
    failure: Failure | None = None
    created_at: str


class RunRequest(StoredRecord):
    """A run that was asked for."""

    COLLECTION: ClassVar[str] = "run_requests"

    dataset_id: str
    version: int
    preset: Preset
    space: SearchSpace | None = None
    trigger: Literal["request"] = "request"
    created_at: str


class DeletionRequest(StoredRecord):
    """Something that should be deleted. `target` is `ds_1`, `ds_1/2`, `mdl_1` or `mdl_1/2`; `owner` the service."""

    COLLECTION: ClassVar[str] = "deletion_requests"

    target: str
    owner: Literal["ingest", "preprocess", "registry"]
    address: str
    created_at: str


INDEXES = (
    Index(DeletionRequest.COLLECTION, ("target",)),
    Index(DatasetRequest.COLLECTION, ("project_id",)),
    Index(ImportRequest.COLLECTION, ("dataset_id",)),
    Index(RunRequest.COLLECTION, ("dataset_id",)),
    Index(RunRequest.COLLECTION, ("project_id",)),
)
