"""Features in the object store, found again by what they were computed from.

A pointer under a key made of the inputs names content-addressed files (shards) of features, each of some samples. It is
written after each of them, so a study that is tried again, a second one, and one on a later version of the data set
compute only what is new.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from learning.study import Json
from schemas.base import BlobRef

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/octet-stream"
_SHARDS = TypeAdapter(list[BlobRef])


@dataclass(frozen=True)
class FeatureKey:
    """What features depend on beside the samples: `recipe` and `backbone` (hashes by file)."""

    recipe: Json
    backbone: dict[str, str]

    @property
    def digest(self) -> str:
        """The same for features that may be mixed, and only for these."""
        text = json.dumps([self.recipe, self.backbone], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Shard:
    """A file of features, here and in the object store."""

    ref: BlobRef
    path: Path


class FeatureCache:
    """The features of one data set; its id is in the keys of the pointers, so that they go when it is deleted."""

    def __init__(self, blobs: BlobStore, project_id: str, dataset_id: str, folder: Path) -> None:
        self._blobs = blobs
        self._project_id = project_id
        self._dataset_id = dataset_id
        self._folder = folder

    def find(self, key: FeatureKey) -> list[Shard]:
        """Those that are there and whole, fetched; samples of the others are computed again."""
        try:
            stored = json.loads(self._blobs.get_named(self._pointer(key)))
            refs = _SHARDS.validate_python(stored["shards"])
        except BlobMissing:
            return []
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            log.warning("the list of cached features %s cannot be read: %s", key.digest, error)
            return []
        return [shard for ref in refs if (shard := self._fetched(ref)) is not None]

    def add(self, key: FeatureKey, known: Sequence[Shard], path: Path) -> Shard:
        """Store the file beside those that are known."""
        shard = Shard(self._blobs.put_file(self._project_id, path, MEDIA_TYPE), path)
        refs = [each.ref.model_dump(mode="json") for each in (*known, shard)]
        self._blobs.put_named(self._pointer(key), json.dumps({"shards": refs}).encode(), "application/json")
        return shard

    def _fetched(self, ref: BlobRef) -> Shard | None:
        path = self._folder / ref.sha256
        try:
            if not path.is_file():
                self._blobs.fetch(ref, path)
        except (BlobMissing, BlobDamaged) as error:
            log.warning("cached features %s are computed again: %s", ref.sha256, error)
            return None
        return Shard(ref, path)

    def _pointer(self, key: FeatureKey) -> str:
        return f"projects/{self._project_id}/features/{self._dataset_id}/{key.digest}.json"
