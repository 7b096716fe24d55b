"""What the handlers of preprocess are given."""

from dataclasses import dataclass

from chassis.deps import Deps
from chassis.documents.ports import Documents
from services.preprocess.chunk_reading import ChunkReader


@dataclass(frozen=True)
class PreprocessDeps(Deps):
    """The databases of others, for reading only.

    `ingest`: what it announced is found there when its events are lost; `registry`: which runs need a version.
    """

    reader: ChunkReader
    ingest: Documents
    registry: Documents
