"""What the last whole search on a data set found, for studies on versions of it that are hardly larger."""

import json
import logging
from dataclasses import dataclass

from chassis.blobs.ports import BlobMissing, BlobStore
from learning.study import Json

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/json"


@dataclass(frozen=True)
class EarlierWinner:
    """Of one preset. It lies beside the cached features of the data set, and goes when these go."""

    blobs: BlobStore
    project_id: str
    dataset_id: str
    preset: str

    @property
    def key(self) -> str:
        """Where it lies."""
        return f"projects/{self.project_id}/features/{self.dataset_id}/winner-{self.preset}.json"

    def load(self) -> Json | None:
        """{"candidate", "sample_count"}; None when there was no search, or what lies there is of another program."""
        try:
            found = json.loads(self.blobs.get_named(self.key))
            return {"candidate": dict(found["candidate"]), "sample_count": int(found["sample_count"])}
        except BlobMissing:
            return None
        except (ValueError, KeyError, TypeError) as error:
            log.warning("the earlier winner of %s cannot be read: %s", self.dataset_id, error)
            return None

    def store(self, candidate: Json, sample_count: int) -> None:
        """Replaces what was there."""
        text = json.dumps({"candidate": candidate, "sample_count": sample_count})
        self.blobs.put_named(self.key, text.encode(), MEDIA_TYPE)
