"""Finds the reader for an upload."""

from pathlib import Path

from chassis.errors import PermanentError
from services.ingest.archive_kind import HEAD_BYTES, kind_of, single_file
from services.ingest.archives import Archive, ArchiveLimits
from services.ingest.single_file import SingleFile
from services.ingest.tar_archive import TAR_KINDS, TarArchive
from services.ingest.zip_archive import ZipArchive


def open_archive(path: Path, file_name: str, limits: ArchiveLimits, label: str | None = None) -> Archive:
    """By content, never by name; a file that is a picture is a sample when a `label` came with it.

    Raises PermanentError that names what the file is.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    kind = kind_of(head)
    if kind in TAR_KINDS:
        return TarArchive(path, kind, file_name, limits)
    try:
        return ZipArchive(path, file_name, limits)
    except PermanentError:
        single = single_file(head) if kind == "file" and label is not None else None
        if single is None:
            raise
        return SingleFile(path, file_name, single[1])
