"""What every handler is given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chassis.blobs.ports import BlobStore
from chassis.clock import Clock
from chassis.documents.ports import Database
from chassis.ids import Ids
from chassis.topics import TopicCatalog
from chassis.unit_of_work import Outlet, UnitOfWork
from chassis.wake import Wake
from schemas.base import Event


@dataclass(frozen=True)
class Deps:
    """The ports a service stands on. A service that needs more extends this class."""

    service: str
    database: Database
    blobs: BlobStore
    clock: Clock
    ids: Ids
    topics: TopicCatalog
    relay_wake: Wake
    jobs_wake: Wake

    def unit_of_work(self, cause: Event | None = None) -> UnitOfWork:
        """One transaction; with a cause, one that takes effect once however often the event arrives."""
        return UnitOfWork(self.database, self._outlet(), cause)

    def _outlet(self) -> Outlet:
        return Outlet(self.service, self.topics, self.clock, self.ids, self.relay_wake)


Handler = Callable[[Any, Any], Awaitable[None]]
Handlers = Mapping[type[Event], Handler]
"""Event type -> `async def handler(event, deps)`. `Any` because each handler names its own event and deps types."""
