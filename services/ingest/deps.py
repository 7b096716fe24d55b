"""What the handlers of ingest that delete are given."""

from dataclasses import dataclass

from chassis.deps import Deps
from chassis.documents.ports import Documents


@dataclass(frozen=True)
class IngestDeps(Deps):
    """The databases of preprocess and of the registry, for reading only: what still needs a data set is found there."""

    preprocess: Documents
    registry: Documents
