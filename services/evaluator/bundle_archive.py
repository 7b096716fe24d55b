"""A bundle's zip as the folder it was made from."""

import zipfile
from pathlib import Path

from chassis.errors import PermanentError


def unpack_bundle(archive: Path, folder: Path) -> None:
    """Into the new folder `folder`. Raises PermanentError for what is not a zip; entries never leave the folder."""
    try:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    except zipfile.BadZipFile as error:
        raise PermanentError(
            "bundle_invalid", f"The model bundle {archive.name} is not a zip file ({error}); start a new run."
        ) from error
