"""Bundles on the local disk: fetched, unpacked once per content, loaded and warmed. Blocking."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from chassis.blobs.ports import BlobStore
from learning.errors import ArtefactInvalidError
from learning.task import Predictor, TaskPlugin
from schemas.base import BlobRef

MANIFEST = "manifest.json"
SPARE_FOLDERS = 4

LoadPredictor = Callable[[str, Path], Predictor]
"""(task name, bundle folder) -> predictor. Raises ArtefactInvalidError, TaskUnknownError."""


Prepare = Callable[[str], object]
"""(task name) -> whatever; afterwards loading a predictor of the task is quick. Raises TaskUnknownError."""


def load_plugin(task: str) -> TaskPlugin:
    """The task's plug-in, with the inference runtime that it brings."""
    from learning.registry import get_task  # loads that runtime, which a gateway without models never needs

    return get_task(task)


def plugin_predictor(task: str, folder: Path) -> Predictor:
    """Load through the task's plug-in."""
    return load_plugin(task).load_predictor(folder, threads=1)


@dataclass(frozen=True)
class BundleStore:
    """`folder` holds one unpacked bundle per sha256. A folder is whole or absent."""

    blobs: BlobStore
    folder: Path
    load_predictor: LoadPredictor = plugin_predictor
    prepare: Prepare = load_plugin

    def load(self, task: str, bundle: BlobRef) -> Predictor:
        """A predictor that has made its first prediction. Raises ArtefactInvalidError, BlobMissing, BlobDamaged."""
        place = self.folder / bundle.sha256
        if not place.is_dir():
            self._unpack(bundle, place)
        predictor = self.load_predictor(task, place)
        predictor.warm_up()
        return predictor

    def prune(self, in_use: frozenset[str]) -> None:
        """Remove bundles that are not in use, except the newest few, which a roll-back would want."""
        if not self.folder.is_dir():
            return
        unused = [place for place in self.folder.iterdir() if place.is_dir() and place.name not in in_use]
        for place in sorted(unused, key=lambda one: one.stat().st_mtime, reverse=True)[SPARE_FOLDERS:]:
            shutil.rmtree(place, ignore_errors=True)

    def _unpack(self, bundle: BlobRef, place: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".bundle-", dir=self.folder) as scratch:
            archive, unpacked = Path(scratch) / "bundle.zip", Path(scratch) / "unpacked"
            self.blobs.fetch(bundle, archive)
            _extract(archive, unpacked)
            try:
                os.rename(unpacked, place)
            except OSError:
                if not place.is_dir():  # otherwise another gateway on this machine was first, with the same content
                    raise


def _extract(archive: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as bundle:
            for name in bundle.namelist():
                _refuse_escape(name)
            bundle.extractall(target)
    except zipfile.BadZipFile as error:
        raise ArtefactInvalidError(
            "bundle_invalid", f"The model's bundle is not a zip file: {error}; train again."
        ) from error
    if not (target / MANIFEST).is_file():
        raise ArtefactInvalidError("bundle_invalid", f"The model's bundle holds no {MANIFEST}; train again.")


def _refuse_escape(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ArtefactInvalidError(
            "bundle_invalid", f"The model's bundle has the entry {name!r}, which leaves its folder."
        )
