"""Starts preprocess: `python -m services.preprocess.main`."""

from chassis.composition import Assembly, connect, database_name
from chassis.documents import mongo
from chassis.documents.mongo import MongoDatabase
from chassis.documents.ports import Index
from chassis.runtime import run
from chassis.settings import load_settings
from services.preprocess.chunk_reading import ChunkReader
from services.preprocess.deps import PreprocessDeps
from services.preprocess.handlers import HANDLERS
from services.preprocess.records import Chunk, Version
from services.preprocess.settings import PreprocessSettings
from services.preprocess.streams_runner import StreamPlace, Streams
from services.preprocess.sweeping import sweep_turn

NAME = "preprocess"
INDEXES = (
    Index(Version.COLLECTION, ("dataset_id", "status")),
    Index(Version.COLLECTION, ("status",)),
    Index(Chunk.COLLECTION, ("dataset_version",)),
)


def build_deps(settings: PreprocessSettings) -> PreprocessDeps:
    """The production dependencies."""
    shared = connect(settings, NAME)
    ingest = MongoDatabase(mongo.connect(settings.mongo_uri.get_secret_value()), database_name("ingest"))
    return PreprocessDeps(**vars(shared), reader=ChunkReader(shared.blobs, settings.decode_threads), ingest=ingest)


async def serve(settings: PreprocessSettings) -> None:
    """Until it is told to stop."""
    deps = build_deps(settings)
    assembly = Assembly(settings, deps, HANDLERS)
    place = StreamPlace(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        group=NAME,
        topics=assembly.topics(),
        folder=settings.scratch_dir / "streams",
        concurrency=settings.chunks_at_once,
    )
    streams = Streams(place, assembly.dispatcher.deliver)
    service = assembly.service({"streams": streams.turn, "sweep": lambda: sweep_turn(deps)}, INDEXES)
    service.closers = [streams.close, *service.closers]
    await service.run()


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(PreprocessSettings)
    run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
