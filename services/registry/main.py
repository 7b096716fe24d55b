"""Starts the registry: `python -m services.registry.main`."""

from chassis.composition import Assembly, connect
from chassis.documents.ports import Index
from chassis.runtime import run
from chassis.settings import ServiceSettings, load_settings
from services.registry.handlers import HANDLERS
from services.registry.records import Alias, AliasMove, KnownVersion, Model, ModelVersion, Run

NAME = "registry"
INDEXES = (
    Index(Run.COLLECTION, ("dataset_id", "version", "state")),
    Index(Model.COLLECTION, ("dataset_id",)),
    Index(ModelVersion.COLLECTION, ("model_id",)),
    Index(Alias.COLLECTION, ("model_id",)),
    Index(AliasMove.COLLECTION, ("model_id",)),
    Index(KnownVersion.COLLECTION, ("dataset_id",)),
)


async def serve(settings: ServiceSettings) -> None:
    """Until it is told to stop."""
    assembly = Assembly(settings, connect(settings, NAME), HANDLERS)
    await assembly.service({"consumer": assembly.consumer()}, INDEXES).run()


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(ServiceSettings)
    run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
