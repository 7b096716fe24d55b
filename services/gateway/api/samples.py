"""/v1/datasets/{id}/versions/{version}/samples: what a version holds, page by page, and small pictures of it."""

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from chassis.blobs.ports import BlobMissing, thumbnail_key
from schemas.base import DEFAULT_PROJECT, BlobRef
from services.gateway.api import data_reading
from services.gateway.api.context import Stores
from services.gateway.api.datasets import DatasetId
from services.gateway.api.problems import ApiError, problems
from services.gateway.deps import GatewayDeps

if TYPE_CHECKING:
    from chassis.manifests import Sample

router = APIRouter(tags=["data sets"])

PAGE_MOST = 500
THUMBNAIL_TYPE = "image/jpeg"


class SampleView(BaseModel):
    """One sample. `sha256` is that of its content: its small picture is at /v1/thumbnails/{sha256}."""

    name: str = Field(examples=["apple/1.jpg"])
    labels: list[str] = Field(description="ids of its classes")
    split: str | None = Field(default=None, description="what it is used for: train, val or test")
    width: int = Field(description="pixels")
    height: int = Field(description="pixels")
    notes: list[str] = Field(default=[], description="codes of what was noticed, e.g. blurred")
    sha256: str


class SamplePage(BaseModel):
    """Samples in the version's order. `total` counts all that match."""

    items: list[SampleView]
    offset: int
    total: int


class Wanted(BaseModel):
    """Which samples, and which page of them. What is None is not asked for."""

    class_id: str | None = Field(default=None, description="only samples of this class")
    split: str | None = Field(default=None, description="only samples of this split")
    offset: int = Field(default=0, ge=0, le=2**31)
    limit: int = Field(default=100, ge=1, le=PAGE_MOST)


@router.get(
    "/v1/datasets/{dataset_id}/versions/{version}/samples",
    summary="List the samples of a version",
    responses=problems(404, 409, 422),
)
async def list_samples(
    dataset_id: DatasetId, version: Annotated[int, Path(ge=1)], deps: Stores, wanted: Annotated[Wanted, Query()]
) -> SamplePage:
    """A page of them, of one class or split where that is asked for."""
    await data_reading.get_version(deps, dataset_id, version)
    row = await deps.preprocess.get("versions", f"{dataset_id}/{version}")
    if row is None or row.get("manifest") is None:
        detail = f"Version {version} of data set {dataset_id} has no list of samples yet; wait until it is ready."
        raise ApiError(409, "version_not_ready", detail)
    return await asyncio.to_thread(_page, deps, BlobRef.model_validate(row["manifest"]), wanted)


@router.get(
    "/v1/thumbnails/{sha256}",
    summary="A small picture of a sample",
    responses={200: {"content": {THUMBNAIL_TYPE: {}}}, **problems(404, 422)},
    response_class=Response,
)
async def get_thumbnail(
    sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$", examples=["0" * 64])], deps: Stores
) -> Response:
    """A JPEG of at most 256 pixels; the same content has the same picture, so that it may be kept."""
    try:
        content = await asyncio.to_thread(_thumbnail, deps, sha256)
    except BlobMissing:
        detail = f"There is no small picture of {sha256}; samples of a ready version have one."
        raise ApiError(404, "thumbnail_unknown", detail) from None
    return Response(content, media_type=THUMBNAIL_TYPE, headers={"Cache-Control": "private, max-age=86400"})


def _page(deps: GatewayDeps, manifest: BlobRef, wanted: Wanted) -> SamplePage:
    from chassis.manifests import read_manifest  # brings pyarrow, which only this answer needs

    found = [sample for sample in read_manifest(deps.blobs.get(manifest)).samples if _matches(sample, wanted)]
    shown = found[wanted.offset : wanted.offset + wanted.limit]
    return SamplePage(items=[_view(sample) for sample in shown], offset=wanted.offset, total=len(found))


def _matches(sample: "Sample", wanted: Wanted) -> bool:
    return wanted.class_id in {None, *sample.labels} and wanted.split in {None, sample.split}


def _thumbnail(deps: GatewayDeps, sha256: str) -> bytes:
    return deps.blobs.get_named(thumbnail_key(DEFAULT_PROJECT, sha256))


def _view(sample: "Sample") -> SampleView:
    return SampleView(
        name=sample.name,
        labels=list(sample.labels),
        split=sample.split,
        width=sample.width,
        height=sample.height,
        notes=list(sample.notes),
        sha256=sample.blob.sha256,
    )
