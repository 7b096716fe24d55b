"""Features in the object store, found again by what they were computed from.

A small pointer under a key made of the inputs names the content-addressed feature file. A study that is tried again,
or a second one on the same version, finds the very features; one on a later version finds those of its predecessor,
of which the samples that did not change are taken over.
"""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from learning.errors import ArtefactInvalidError
from learning.task import FeatureSet, Json, TaskPlugin
from schemas.base import BlobRef

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class FeatureKey:
    """What features depend on: `recipe` and `backbone` (hashes by file) say how, the manifest says of which samples."""

    recipe: Json
    backbone: dict[str, str]
    dataset_id: str
    manifest_sha256: str

    @property
    def exact(self) -> str:
        """The same for equal features only."""
        return self._digest(self.manifest_sha256)

    @property
    def latest(self) -> str:
        """The same for all versions of the data set."""
        return self._digest(self.dataset_id)

    def _digest(self, of: str) -> str:
        text = json.dumps([self.recipe, self.backbone, of], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class FeatureCache:
    """The features of one data set; its id is in the keys of the pointers, so that they go when it is deleted."""

    def __init__(self, blobs: BlobStore, project_id: str, dataset_id: str, plugin: TaskPlugin, folder: Path) -> None:
        self._blobs = blobs
        self._project_id = project_id
        self._dataset_id = dataset_id
        self._plugin = plugin
        self._folder = folder

    def find(self, digest: str) -> tuple[BlobRef, FeatureSet] | None:
        """None when there are none, or when what lies there cannot be read: it is then computed again."""
        path = self._folder / digest
        try:
            ref = BlobRef.model_validate_json(self._blobs.get_named(self._pointer(digest)))
            self._blobs.fetch(ref, path)
            return ref, self._plugin.load_features(path)
        except BlobMissing:
            return None
        except (BlobDamaged, ValidationError, ArtefactInvalidError) as error:
            log.warning("cached features %s are computed again: %s", digest, error)
            return None

    def store(self, key: FeatureKey, features: FeatureSet) -> BlobRef:
        """Keep them under both digests of the key."""
        path = self._folder / "features"
        features.save(path)
        ref = self._blobs.put_file(self._project_id, path, MEDIA_TYPE)
        path.unlink()
        for digest in (key.exact, key.latest):
            self._blobs.put_named(self._pointer(digest), ref.model_dump_json().encode(), "application/json")
        return ref

    def _pointer(self, digest: str) -> str:
        return f"projects/{self._project_id}/features/{self._dataset_id}/{digest}.json"
