"""What a study has found so far, kept in the object store after each trial: another attempt goes on from there."""

import json
import logging
from dataclasses import dataclass

from chassis.blobs.ports import BlobMissing, BlobStore
from learning.study import StudyState

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/json"


@dataclass(frozen=True)
class StudyLog:
    """Of one run. It lies with what the trainer keeps of a run, and goes with it when the run is over."""

    blobs: BlobStore
    run_id: str

    @property
    def key(self) -> str:
        """Where it lies."""
        return f"jobs/{self.run_id}/study.json"

    def load(self) -> StudyState | None:
        """None when the study begins, or when what lies there is of another program."""
        try:
            return StudyState.from_json(json.loads(self.blobs.get_named(self.key)))
        except BlobMissing:
            return None
        except (ValueError, KeyError, TypeError) as error:
            log.warning("the study of %s begins anew: %s", self.run_id, error)
            return None

    def store(self, state: StudyState) -> None:
        """Replaces what was there."""
        self.blobs.put_named(self.key, json.dumps(state.to_json()).encode(), MEDIA_TYPE)
