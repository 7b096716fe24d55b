"""Starts ingest: `python -m services.ingest.main`; with `job` behind it, the process of one job."""

import sys
from datetime import timedelta
from typing import Any

from chassis.clock import SystemClock
from chassis.composition import Assembly, blob_store, connect, databases, upload_sessions
from chassis.documents.ports import Index
from chassis.failpoints import Failpoints
from chassis.job_process import JobContext, run_job
from chassis.memory import return_large_buffers
from chassis.runtime import run
from chassis.settings import load_settings
from services.ingest.collection import COLLECT, JOB_KIND, CollectionLoop
from services.ingest.deps import IngestDeps
from services.ingest.handlers import HANDLERS, IMPORT, JOB_KINDS
from services.ingest.import_job import ArchiveImport
from services.ingest.records import Chunk, Import
from services.ingest.settings import IngestSettings

NAME = "ingest"
MODULE = "services.ingest.main"
INDEXES = (
    Index(Import.COLLECTION, ("dataset_id",)),
    Index(Import.COLLECTION, ("ended_at",)),
    Index(Chunk.COLLECTION, ("dataset_version",)),
)


async def serve(settings: IngestSettings) -> None:
    """Until it is told to stop."""
    others = databases(settings, "preprocess", "registry")
    shared = connect(settings, NAME)
    deps = IngestDeps(**vars(shared), preprocess=others["preprocess"], registry=others["registry"])
    assembly = Assembly(settings, deps, HANDLERS)
    loops = {
        "consumer": assembly.consumer(),
        "jobs": assembly.worker(deps, JOB_KINDS, MODULE, spare_after_s=settings.spare_job_after_s),
        # A worker of its own: no import waits for the collection of blobs.
        "collections": assembly.worker(deps, [JOB_KIND], MODULE),
        "collection-times": CollectionLoop(deps, timedelta(seconds=settings.blob_collection_interval_s)).turn,
    }
    service = assembly.service(loops, INDEXES)
    service.closers = [*service.closers, others["registry"].close]
    await service.run()


def work(settings: IngestSettings) -> None:
    """Do the one job that standard input names."""
    failpoints = Failpoints.parse(settings.failpoints, settings.data_dir)
    archive = ArchiveImport(blob_store(settings), settings.limits, settings.scratch_dir, failpoints)

    def read_archive(context: JobContext) -> dict[str, object]:
        return archive.run(context.args, context.say)

    run_job(NAME, settings, {IMPORT: read_archive, COLLECT: lambda context: collect(settings, context)})


def collect(settings: IngestSettings, context: JobContext) -> dict[str, Any]:
    """Collect blobs. Its libraries are imported here: an import needs none of them."""
    from services.ingest.collecting import BlobCollector, run_collection
    from services.ingest.reading_references import SERVICES

    grace = timedelta(seconds=settings.blob_grace_s)
    collector = BlobCollector(blob_store(settings), upload_sessions(settings), SystemClock(), grace)
    return run_collection(context.args, collector, lambda: databases(settings, *SERVICES))


def main() -> None:
    """Read the settings and run."""
    return_large_buffers()
    settings = load_settings(IngestSettings)
    if sys.argv[1:] == ["job"]:
        work(settings)
    else:
        run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
