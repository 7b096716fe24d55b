"""What the handlers of preprocess are given."""

from dataclasses import dataclass

from chassis.deps import Deps
from chassis.documents.ports import Documents
from services.preprocess.chunk_reading import ChunkReader


@dataclass(frozen=True)
class PreprocessDeps(Deps):
    """`ingest` is the database of ingest, read only: what it announced is found there when its events are lost."""

    reader: ChunkReader
    ingest: Documents
