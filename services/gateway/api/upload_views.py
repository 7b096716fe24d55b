"""Uploads in parts as callers see them."""

from typing import Literal

from pydantic import BaseModel, Field

from services.gateway.uploads import Upload as StoredUpload


class NewUpload(BaseModel):
    """The file that is to come, in parts."""

    file_name: str = Field(min_length=1, max_length=1024, examples=["fruit.zip"])
    size: int = Field(ge=0, le=2**53 - 1, description="of the whole file, in bytes", examples=[3_000_000_000])
    label: str | None = Field(
        default=None, min_length=1, max_length=255, description="class of a single file, or of files in no folder"
    )


class UploadPart(BaseModel):
    """A part that arrived. Numbers begin at 1; all but the last have the upload's `part_size`."""

    number: int
    size: int
    sha256: str | None = Field(default=None, description="lower-case hex; only in the answer to sending it")


class Upload(BaseModel):
    """A file on its way in, part by part. Nothing is lost when either side restarts."""

    id: str = Field(examples=["upl_01JQ8"])
    dataset_id: str
    file_name: str
    label: str | None = None
    size: int
    part_size: int = Field(description="bytes of each part but the last", examples=[16_777_216])
    part_count: int
    status: Literal["open", "completed"]
    parts: list[UploadPart] = Field(description="those that arrived")
    import_id: str | None = Field(default=None, description="the import it became")
    created_at: str
    expires_at: str = Field(description="when it is given up unless it was completed")


class UploadList(BaseModel):
    """Open uploads, newest first."""

    items: list[Upload]


def upload_view(upload: StoredUpload) -> Upload:
    """With the parts that arrived."""
    arrived = [UploadPart(number=part.number, size=part.size) for part in upload.arrived]
    return Upload(
        **upload.model_dump(include=set(Upload.model_fields) - {"part_count", "parts"}),
        part_count=upload.part_count,
        parts=arrived,
    )
