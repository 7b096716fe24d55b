"""An exported folder as one zip whose bytes follow from its content, so that a second attempt stores the same blob."""

import zipfile
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_MODE = 0o644 << 16


def write_bundle(folder: Path, target: Path) -> None:
    """All files of `folder`, in the order of their names. Stored without compression: networks hardly shrink."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
                entry.external_attr = _MODE
                archive.writestr(entry, path.read_bytes())
