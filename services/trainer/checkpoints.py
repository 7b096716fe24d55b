"""The last checkpoint of a training in the object store, under a name, so that another attempt finds it."""

from dataclasses import dataclass

from chassis.blobs.ports import BlobMissing, BlobStore
from schemas.base import BlobRef

MEDIA_TYPE = "application/octet-stream"


def checkpoint_folder(run_id: str) -> str:
    """The prefix of everything that a run's training keeps for its next attempt."""
    return f"jobs/{run_id}/"


@dataclass(frozen=True)
class Checkpoints:
    """Of one run and one winner: a checkpoint resumes only the very training it was taken from."""

    blobs: BlobStore
    run_id: str
    winner: BlobRef

    @property
    def key(self) -> str:
        """Where the checkpoint lies."""
        return f"{checkpoint_folder(self.run_id)}checkpoint/{self.winner.sha256}"

    def load(self) -> bytes | None:
        """None when the training starts for the first time."""
        try:
            return self.blobs.get_named(self.key)
        except BlobMissing:
            return None

    def store(self, checkpoint: bytes) -> None:
        """Replaces the one before."""
        self.blobs.put_named(self.key, checkpoint, MEDIA_TYPE)


def delete_checkpoints(blobs: BlobStore, run_id: str) -> None:
    """The run is over. Idempotent."""
    for key in blobs.keys(checkpoint_folder(run_id)):
        blobs.delete(key)
