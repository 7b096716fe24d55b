"""What the gateway does with each event: archive it, and look after the models it serves when an alias moved."""

from chassis.deps import Handlers
from chassis.replaying import rearm_within
from chassis.telemetry import current_traceparent
from schemas.base import Event
from schemas.catalog import EVENTS
from schemas.deadletter import DeadLetterReplayRequested
from schemas.deletion import DatasetDeleted, DatasetVersionDeleted, ModelDeleted
from schemas.run import ModelAliasChanged, RunStarted
from services.gateway.archive import append
from services.gateway.deps import GatewayDeps
from services.gateway.requests import ImportRequest
from services.gateway.uploads import Upload


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


async def archive_and_forget_dataset(event: DatasetDeleted, deps: GatewayDeps) -> None:
    """Archive the event; the uploads of a data set that is gone are nobody's any more."""
    async with deps.unit_of_work(cause=event) as tx:
        await append(tx, event)
        for asked in await tx.records(ImportRequest).find({"dataset_id": event.dataset_id}):
            await tx.records(ImportRequest).delete(asked.id)
        for upload in await tx.records(Upload).find({"dataset_id": event.dataset_id}):
            await tx.records(Upload).delete(upload.id)
    deps.archived.notify()


async def archive_and_forget_version(event: DatasetVersionDeleted, deps: GatewayDeps) -> None:
    """Archive the event; the upload that became the version goes with it."""
    imports = await deps.ingest.find("imports", {"dataset_id": event.dataset_id})
    async with deps.unit_of_work(cause=event) as tx:
        await append(tx, event)
        for row in (row for row in imports if row["version"] == event.version):
            await tx.records(ImportRequest).delete(row["_id"])
    deps.archived.notify()


async def archive_and_unload(event: ModelDeleted, deps: GatewayDeps) -> None:
    """Archive the event and wake the model pool, which drops what no alias names."""
    await archive(event, deps)
    deps.aliases_wake.set()


async def archive_and_rearm(event: DeadLetterReplayRequested, deps: GatewayDeps) -> None:
    """Archive the event, and try again what the gateway itself gave up on."""
    async with deps.unit_of_work(cause=event) as tx:
        await append(tx, event)
        if event.service == deps.service:
            await rearm_within(tx, event, deps)
    deps.archived.notify()


HANDLERS: Handlers = dict.fromkeys(EVENTS.values(), archive) | {
    ModelAliasChanged: archive_and_reload,
    RunStarted: archive_and_get_ready,
    DatasetDeleted: archive_and_forget_dataset,
    DatasetVersionDeleted: archive_and_forget_version,
    ModelDeleted: archive_and_unload,
    DeadLetterReplayRequested: archive_and_rearm,
}
