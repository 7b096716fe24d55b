"""What the registry owns: runs, models, their versions and aliases."""

from datetime import datetime
from typing import ClassVar, Literal

from chassis.records import StoredRecord
from schemas.base import BlobRef, Failure, Preset
from schemas.publishing import Publication, PublishPolicy
from schemas.run import Budget, RunState
from schemas.search import SearchSpace

PRODUCTION = "production"

Trigger = Literal["auto", "request"]


class Run(StoredRecord):
    """One attempt to make a better model of a dataset version. `stage_times` says when each state was entered."""

    COLLECTION: ClassVar[str] = "runs"

    dataset_id: str
    version: int
    model_id: str
    task: str = ""
    preset: Preset
    seed: int
    space: SearchSpace | None = None
    trigger: Trigger
    state: RunState
    stage_times: dict[RunState, datetime]
    trace_id: str | None = None
    budget: Budget | None = None
    manifest: BlobRef | None = None
    bundle: BlobRef | None = None
    failure: Failure | None = None
    model_version: int | None = None
    publication: Publication | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Model(StoredRecord):
    """What a data set's runs improve; `last_version` is the newest number given. Marked, not removed, when deleted."""

    COLLECTION: ClassVar[str] = "models"

    dataset_id: str
    task: str
    last_version: int = 0
    policy: PublishPolicy = PublishPolicy()
    created_at: datetime
    deleted_at: datetime | None = None


class ModelVersion(StoredRecord):
    """One trained and evaluated model. Immutable; `publication` is what the policy decided when it was registered."""

    COLLECTION: ClassVar[str] = "model_versions"

    model_id: str
    version: int
    run_id: str
    dataset_id: str
    dataset_version: int
    bundle: BlobRef
    report: BlobRef
    metrics: dict[str, float]
    publication: Publication | None = None
    created_at: datetime


class Alias(StoredRecord):
    """A name that callers use; it points at one version at a time."""

    COLLECTION: ClassVar[str] = "aliases"

    model_id: str
    alias: str
    version: int


class AliasMove(StoredRecord):
    """One line of an alias's history: who moved it, from where to where, and why."""

    COLLECTION: ClassVar[str] = "alias_moves"

    model_id: str
    alias: str
    version: int
    previous_version: int | None
    reason: str
    actor: str
    at: datetime


class KnownVersion(StoredRecord):
    """What became of a dataset version, as far as runs need to know."""

    COLLECTION: ClassVar[str] = "dataset_versions"

    dataset_id: str
    version: int
    task: str = ""
    manifest: BlobRef | None = None
    failure: Failure | None = None


class DeletedDataset(StoredRecord):
    """A data set that is gone: nothing starts on it any more, in whatever order events arrive."""

    COLLECTION: ClassVar[str] = "deleted_datasets"
