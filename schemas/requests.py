"""What people ask for. Written by the gateway to gateway.requests."""

from typing import ClassVar

from pydantic import Field, PositiveInt

from schemas.base import AutoTrain, BlobRef, Event, Preset
from schemas.search import SearchSpace


class DatasetRequested(Event):
    """Someone asks for a new data set under an id of the gateway's choosing."""

    TYPE: ClassVar[str] = "easyloop.dataset.requested.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    name: str = Field(min_length=1, max_length=200)
    task: str
    auto_train: AutoTrain = "fast"


class ImportRequested(Event):
    """An archive was received in full and lies in the object store; its samples should join the data set.

    `label` is the class of a single file, and of files in no class folder.
    """

    TYPE: ClassVar[str] = "easyloop.import.requested.v1"
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str
    import_id: str
    archive: BlobRef
    file_name: str = Field(min_length=1, max_length=1024)
    label: str | None = Field(default=None, min_length=1, max_length=255)


class RunRequested(Event):
    """Someone asks for a training run on a version that exists."""

    TYPE: ClassVar[str] = "easyloop.run.requested.v1"

    run_id: str
    dataset_id: str
    version: PositiveInt
    preset: Preset = "fast"
    space: SearchSpace | None = None


class RunCancelRequested(Event):
    """Someone asks for a run to end without a model version. Idempotent."""

    TYPE: ClassVar[str] = "easyloop.run.cancel.requested.v1"

    run_id: str


class AliasMoveRequested(Event):
    """Someone asks for an alias to name another version of the model."""

    TYPE: ClassVar[str] = "easyloop.alias.move.requested.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    alias: str
    version: PositiveInt
    reason: str = ""
    actor: str = "admin"
