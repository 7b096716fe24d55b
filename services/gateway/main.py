"""Starts the gateway: `python -m services.gateway.main`; with `job` behind it, puts the parts of an upload together."""

import asyncio
import sys

from opentelemetry import trace

from chassis.composition import Assembly, connect, databases, upload_sessions
from chassis.health import quiet_server
from chassis.job_process import run_job
from chassis.memory import return_large_buffers
from chassis.runtime import Closer, run
from chassis.settings import load_settings
from services.gateway import archive, requests, uploads, writing
from services.gateway.api.app import create_app
from services.gateway.api.context import ApiContext
from services.gateway.api.fresh_context import FreshContext
from services.gateway.bundles import BundleStore
from services.gateway.completing import JOB_KINDS, UPLOAD
from services.gateway.deps import GatewayDeps
from services.gateway.examining import Examination
from services.gateway.expiring import UploadExpiry
from services.gateway.handlers import HANDLERS
from services.gateway.model_pool import ModelPool
from services.gateway.predicting import PredictionPool
from services.gateway.settings import GatewaySettings
from services.gateway.upload_job import UploadJob

NAME = "gateway"
READS = ("ingest", "preprocess", "hpo", "trainer", "evaluator", "registry")
INDEXES = (*archive.INDEXES, *requests.INDEXES, *uploads.INDEXES, *writing.INDEXES)


async def serve(settings: GatewaySettings) -> None:
    """Until it is told to stop."""
    read = databases(settings, *READS)
    deps = GatewayDeps(**vars(connect(settings, NAME)), read=read, sessions=upload_sessions(settings))
    assembly = Assembly(settings, deps, HANDLERS)
    models = ModelPool(deps, BundleStore(deps.blobs, settings.data_dir / "models"), settings.instance)
    predictions = PredictionPool(settings.predict_threads, settings.predict_queue)
    prepared = asyncio.Event()
    probes = assembly.probes()
    examination = Examination(deps, assembly.bus, probes, settings.data_dir)
    context = ApiContext(
        settings, deps, models, predictions, probes, examination, lambda: server.should_exit, prepared.is_set
    )
    app = FreshContext(create_app(context, trace.get_tracer_provider()))
    server = quiet_server(app, settings.bind_host, settings.gateway_port)
    jobs = assembly.worker(deps, JOB_KINDS, "services.gateway.main")
    expiry = UploadExpiry(deps).turn
    loops = {"consumer": assembly.consumer(), "models": models.turn, "jobs": jobs, "uploads": expiry}
    service = assembly.service(loops, INDEXES, server)
    service.prepare = _then(service.prepare, prepared)
    service.closers = [models.close, predictions.close, *service.closers, read[READS[0]].close]
    await service.run()


def _then(prepare: Closer, prepared: asyncio.Event) -> Closer:
    async def prepare_and_tell() -> None:
        await prepare()
        prepared.set()

    return prepare_and_tell


def main() -> None:
    """Read the settings and run."""
    return_large_buffers()
    settings = load_settings(GatewaySettings)
    if sys.argv[1:] == ["job"]:
        run_job(NAME, settings, {UPLOAD: lambda context: UploadJob(upload_sessions(settings)).run(context.args)})
    else:
        run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
