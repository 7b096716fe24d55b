"""Dead letters of all services, read from their databases, and what stands in the way of replaying one."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chassis.documents.ports import Documents
from chassis.failures import OPEN, FailedEvent
from chassis.records import Repository
from schemas.base import Failure
from schemas.catalog import EVENTS
from schemas.deletion import Deletion
from schemas.run import RunEnded
from services.gateway.api.run_views import ENDED
from services.gateway.deps import GatewayDeps


@dataclass(frozen=True)
class Letter:
    """A row of a service's failures."""

    service: str
    row: FailedEvent

    @property
    def data(self) -> dict[str, Any] | str | None:
        """What the event says; the plain text where that is no JSON object, None where there is no value."""
        value = self.row.record().value
        if value is None:
            return None
        text = value.decode("utf-8", "replace")
        try:
            parsed = json.loads(text)
        except ValueError:
            return text
        return parsed if isinstance(parsed, dict) else text

    @property
    def headers(self) -> dict[str, str]:
        """As text."""
        return {name: value.decode("utf-8", "replace") for name, value in self.row.record().headers}


def databases(deps: GatewayDeps) -> Mapping[str, Documents]:
    """Of all services, by name."""
    return {**deps.read, deps.service: deps.database}


async def dead_letters(deps: GatewayDeps, service: str | None = None) -> list[Letter]:
    """Newest first; only of that service when one is named."""
    wanted = {name: found for name, found in databases(deps).items() if service in {None, name}}
    rows = await asyncio.gather(*(Repository(one, FailedEvent).find({"status": "dead"}) for one in wanted.values()))
    letters = [Letter(name, row) for name, found in zip(wanted, rows, strict=True) for row in found]
    return sorted(letters, key=lambda letter: letter.row.id, reverse=True)


async def letter_of(deps: GatewayDeps, failure_id: str) -> Letter | None:
    """The row of whichever service has it, dead or not; None when nobody does."""
    all_of_them = databases(deps)
    rows = await asyncio.gather(*(Repository(one, FailedEvent).get(failure_id) for one in all_of_them.values()))
    return next((Letter(name, row) for name, row in zip(all_of_them, rows, strict=True) if row is not None), None)


async def waiting_behind(deps: GatewayDeps, letter: Letter) -> list[FailedEvent]:
    """Other events of its key that wait for another attempt, or for one that does; in order."""
    where = {"key": letter.row.key, "status": {"$in": list(OPEN)}}
    rows = await Repository(databases(deps)[letter.service], FailedEvent).find(where)
    return sorted((row for row in rows if row.id != letter.row.id), key=lambda row: row.id)


async def why_not_replayed(deps: GatewayDeps, letter: Letter) -> Failure | None:
    """What makes another attempt pointless; None when nothing does."""
    if letter.row.status != "dead":
        state = "was handled since" if letter.row.status == "done" else "is being tried again"
        sentence = f"Event {letter.row.event_id} {state}; only what is dead is replayed."
        return Failure(code="deadletter_not_dead", sentence=sentence)
    data = letter.data
    if letter.service == deps.service or not isinstance(data, dict):
        return None  # the gateway archives whatever happened
    return await _why_pointless(deps, letter.row.event_type, data)


async def _why_pointless(deps: GatewayDeps, event_type: str, data: Mapping[str, Any]) -> Failure | None:
    kind = EVENTS.get(event_type)
    if kind is RunEnded or (kind is not None and issubclass(kind, Deletion)):
        return None  # these are about what is over
    run = await deps.registry.get("runs", str(data["run_id"])) if "run_id" in data else None
    if run is not None and run["state"] in ENDED:
        sentence = f"Run {run['_id']} is over ({run['state']}): nothing would come of it; start another run."
        return Failure(code="run_over", sentence=sentence)
    dataset = await deps.ingest.get("datasets", str(data["dataset_id"])) if "dataset_id" in data else None
    if dataset is not None and dataset.get("deleted_at") is not None:
        return Failure(
            code="dataset_deleted", sentence=f"Data set {dataset['_id']} was deleted since: nothing would come of it."
        )
    return None
