"""Settings of ingest: how large an archive may be, and when blobs are collected."""

from pydantic import Field

from chassis.settings import ServiceSettings
from services.ingest.archives import ArchiveLimits

_DEFAULT = ArchiveLimits()


class IngestSettings(ServiceSettings):
    """The limits on archives are judged before anything is unpacked."""

    archive_max_entries: int = Field(default=_DEFAULT.entries, gt=0, description="most entries of an archive")
    archive_max_bytes: int = Field(
        default=_DEFAULT.unpacked_bytes, gt=0, description="most bytes an archive unpacks to"
    )
    archive_max_ratio: int = Field(default=_DEFAULT.ratio, gt=0, description="most times an entry over 1 MB may grow")
    sample_max_bytes: int = Field(default=_DEFAULT.sample_bytes, gt=0, description="most bytes of one sample")

    blob_grace_s: float = Field(
        default=24 * 3600.0, ge=0, description="seconds after its last writing before a blob can be collected"
    )
    blob_collection_interval_s: float = Field(
        default=3600.0, gt=0, description="seconds between two collections of blobs that nothing needs"
    )

    @property
    def limits(self) -> ArchiveLimits:
        """As the reader of archives wants them."""
        return ArchiveLimits(
            entries=self.archive_max_entries,
            unpacked_bytes=self.archive_max_bytes,
            sample_bytes=self.sample_max_bytes,
            ratio=self.archive_max_ratio,
        )
