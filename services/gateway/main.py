"""Starts the gateway: `python -m services.gateway.main`."""

import asyncio

from opentelemetry import trace

from chassis.composition import Assembly, connect, databases
from chassis.health import quiet_server
from chassis.runtime import Closer, run
from chassis.settings import load_settings
from services.gateway import archive, requests, writing
from services.gateway.api.app import create_app
from services.gateway.api.context import ApiContext
from services.gateway.api.fresh_context import FreshContext
from services.gateway.bundles import BundleStore
from services.gateway.deps import GatewayDeps
from services.gateway.handlers import HANDLERS
from services.gateway.model_pool import ModelPool
from services.gateway.predicting import PredictionPool
from services.gateway.settings import GatewaySettings

NAME = "gateway"
READS = ("ingest", "preprocess", "registry")
INDEXES = (*archive.INDEXES, *requests.INDEXES, *writing.INDEXES)


async def serve(settings: GatewaySettings) -> None:
    """Until it is told to stop."""
    read = databases(settings, *READS)
    deps = GatewayDeps(**vars(connect(settings, NAME)), read=read)
    assembly = Assembly(settings, deps, HANDLERS)
    models = ModelPool(deps, BundleStore(deps.blobs, settings.data_dir / "models"), settings.instance)
    predictions = PredictionPool(settings.predict_threads, settings.predict_queue)
    prepared = asyncio.Event()
    context = ApiContext(
        settings, deps, models, predictions, assembly.probes(), lambda: server.should_exit, prepared.is_set
    )
    app = FreshContext(create_app(context, trace.get_tracer_provider()))
    server = quiet_server(app, settings.bind_host, settings.gateway_port)
    loops = {"consumer": assembly.consumer(), "models": models.turn}
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
    settings = load_settings(GatewaySettings)
    run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
