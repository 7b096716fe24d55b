"""A model bundle as one zip: what the trainer and the evaluator write, and read again."""

import zipfile
from pathlib import Path

from chassis.errors import PermanentError

MEDIA_TYPE = "application/zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_MODE = 0o644 << 16


def write_bundle(folder: Path, target: Path) -> None:
    """All files of `folder`, ordered by name. The bytes follow from these alone, so that a second attempt
    stores the same blob. Without compression: networks hardly shrink.
    """
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
                entry.external_attr = _MODE
                archive.writestr(entry, path.read_bytes())


def unpack_bundle(archive: Path, folder: Path) -> None:
    """Into the new folder `folder`. Raises PermanentError for what is not a zip; entries never leave the folder."""
    try:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    except zipfile.BadZipFile as error:
        raise PermanentError(
            "bundle_invalid", f"The model bundle {archive.name} is not a zip file ({error}); start a new run."
        ) from error
