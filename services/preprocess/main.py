"""Starts preprocess: `python -m services.preprocess.main`."""

from chassis.composition import Assembly, connect, databases
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


async def serve(settings: PreprocessSettings) -> None:
    """Until it is told to stop."""
    shared = connect(settings, NAME)
    others = databases(settings, "ingest", "registry")
    reader = ChunkReader(shared.blobs, settings.decode_threads)
    deps = PreprocessDeps(**vars(shared), reader=reader, ingest=others["ingest"], registry=others["registry"])
    assembly = Assembly(settings, deps, HANDLERS)
    place = StreamPlace(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        group=NAME,
        topics=assembly.topics(),
        folder=settings.scratch_dir / "streams",
        concurrency=settings.chunks_at_once,
    )
    streams = Streams(place, assembly.dispatcher.deliver, assembly.bus.cluster_id)
    # Faust shares a group's partitions among its members, which not every broker can do.
    consumer = streams.turn if assembly.bus.has_groups else assembly.consumer()
    service = assembly.service({"streams": consumer, "sweep": lambda: sweep_turn(deps)}, INDEXES)
    service.closers = [streams.close, *service.closers, others["ingest"].close]
    await service.run()


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(PreprocessSettings)
    run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
