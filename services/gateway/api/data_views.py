"""Data sets, imports and versions as callers see them: the request, merged with what its owner has made of it."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from schemas.base import AutoTrain, BlobRef, Failure
from services.gateway.requests import DatasetRequest, ImportRequest

Document = Mapping[str, Any]


class Dataset(BaseModel):
    """A data set. `last_version` is the newest version number given, if any."""

    id: str = Field(examples=["ds_01JQ8"])
    name: str = Field(examples=["fruit"])
    task: str = Field(examples=["image_classification"])
    auto_train: AutoTrain = Field(description="the preset of the run that starts when a version is ready, or off")
    status: Literal["requested", "created"]
    last_version: int | None = None
    created_at: str = Field(examples=["2026-01-01T00:00:00.000Z"])


class DatasetList(BaseModel):
    """Data sets, newest first."""

    items: list[Dataset]


class Import(BaseModel):
    """An uploaded archive on its way to becoming a version."""

    id: str = Field(examples=["imp_01JQ8"])
    dataset_id: str = Field(examples=["ds_01JQ8"])
    file_name: str = Field(examples=["fruit.zip"])
    sha256: str | None = Field(default=None, description="of the archive, lower-case hex")
    size: int | None = Field(default=None, description="of the archive, in bytes")
    status: Literal["requested", "accepted", "ingested", "rejected"]
    version: int | None = Field(default=None, description="the version it becomes, once it is accepted")
    sample_count: int | None = None
    rejected_count: int | None = None
    failure: Failure | None = Field(default=None, description="why it was rejected")
    created_at: str
    ended_at: str | None = None


class Finding(BaseModel):
    """What a check found; an error makes the version unusable, a warning or an info does not."""

    code: str
    severity: Literal["error", "warning", "info"]
    sentence: str
    remedy: str = Field(default="", description="what to do; empty where there is nothing to be done")
    count: int = Field(default=0, description="how many classes or files it is about")
    share: float = Field(default=0.0, description="their part of all, 0 to 1")
    examples: list[str] = Field(default=[], description="a few of their names")


class ClassCount(BaseModel):
    """A class and how many samples carry it."""

    id: str
    name: str
    count: int


class Rejection(BaseModel):
    """One file that was refused, and why."""

    name: str
    code: str
    sentence: str


class Version(BaseModel):
    """An immutable snapshot of a data set, or one still being made (`open`)."""

    dataset_id: str
    version: int
    status: Literal["open", "ready", "rejected"]
    task: str | None = None
    sample_count: int = 0
    rejected_count: int = 0
    classes: list[ClassCount] = []
    split_counts: dict[str, int] = {}
    findings: list[Finding] = []
    rejections: list[Rejection] | None = Field(
        default=None, description="the first refused files; for one version only"
    )
    failure: Failure | None = None
    created_at: str | None = None
    ended_at: str | None = None


class VersionList(BaseModel):
    """Versions, newest first."""

    items: list[Version]


def dataset_view(request: DatasetRequest | None, owned: Document | None) -> Dataset | None:
    """The owner's record where there is one, otherwise the request; None when nobody knows it, or it is deleted."""
    if owned is not None and owned.get("deleted_at") is not None:
        return None
    if owned is not None:
        last = int(owned.get("next_version", 1)) - 1
        return Dataset.model_validate(
            {**owned, "id": owned["_id"], "status": "created", "last_version": last if last > 0 else None}
        )
    return None if request is None else Dataset(**request.model_dump(exclude={"project_id"}), status="requested")


def import_view(request: ImportRequest | None, owned: Document | None) -> Import | None:
    """As `dataset_view`; hash and size are the gateway's own knowledge."""
    blob = request.archive if request else None
    archive = {"sha256": blob.sha256, "size": blob.size} if blob else {}
    if owned is not None:
        return Import.model_validate({**archive, **owned, "id": owned["_id"]})
    if request is None:
        return None
    status = "requested" if request.failure is None else "rejected"
    return Import.model_validate({**request.model_dump(exclude={"archive"}), **archive, "status": status})


def version_view(owned: Document) -> Version:
    """A version as preprocess has it."""
    # Its `rejections` is a blob reference; the rows behind it are read for one version only.
    return Version.model_validate({name: value for name, value in owned.items() if name != "rejections"})


def is_deleted(version: Document) -> bool:
    """Whether only the mark of a version is left."""
    return bool(version["status"] == "deleted")


def coming_version(imported: Document) -> Version | None:
    """The version that an import is becoming while preprocess has nothing of it; None before it has a number."""
    if imported.get("version") is None:
        return None
    return Version.model_validate(
        {
            "dataset_id": imported["dataset_id"],
            "version": imported["version"],
            "status": "rejected" if imported["status"] == "rejected" else "open",
            "rejected_count": imported.get("rejected_count") or 0,
            "failure": imported.get("failure"),
            "created_at": imported.get("created_at"),
            "ended_at": imported.get("ended_at"),
        }
    )


def rejections_blob(owned: Document) -> BlobRef | None:
    """Where the refused files of a version or import are listed."""
    blob = owned.get("rejections")
    return None if blob is None else BlobRef.model_validate(blob)
