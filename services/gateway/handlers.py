"""What the gateway does with each event: archive it, and look after the models it serves when an alias moved."""

from chassis.deps import Handlers
from chassis.telemetry import current_traceparent
from schemas.base import Event
from schemas.catalog import EVENTS
from schemas.run import ModelAliasChanged, RunStarted
from services.gateway.archive import append
from services.gateway.deps import GatewayDeps


async def archive(event: Event, deps: GatewayDeps) -> None:
    """Archive the event, once however often it arrives."""
    async with deps.unit_of_work(cause=event) as tx:
        await append(tx, event)
    deps.archived.notify()


async def archive_and_reload(event: ModelAliasChanged, deps: GatewayDeps) -> None:
    """Archive the event and wake the model pool, which would look within seconds anyway."""
    await archive(event, deps)
    if (cause := current_traceparent()) is not None:
        deps.alias_causes[f"{event.model_id}/{event.alias}"] = cause
    deps.aliases_wake.set()


async def archive_and_get_ready(event: RunStarted, deps: GatewayDeps) -> None:
    """Archive the event; the seconds that loading an inference runtime takes are spent while the model is trained."""
    await archive(event, deps)
    deps.tasks_ahead.add(event.task)
    deps.aliases_wake.set()


HANDLERS: Handlers = dict.fromkeys(EVENTS.values(), archive) | {
    ModelAliasChanged: archive_and_reload,
    RunStarted: archive_and_get_ready,
}
