"""What a broker acknowledged and has no more: those rows of the outbox become pending again.

A bus may come back empty (another cluster id) or shorter than it was (a topic made anew). Every row keeps its topic,
partition and offset for as long as a message lives; consumers know by their inbox what they have handled.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chassis.bus.ports import Brokers, Place, Position, Producer
from chassis.clock import Clock
from chassis.documents.ports import Database, Document
from chassis.unit_of_work import OUTBOX

log = logging.getLogger(__name__)

PENDING = "pending"
SENT = "sent"
BUS = "bus"
CLUSTER = "cluster"
LOOK_S = 60.0
_BATCH = 2_000
_AT_ONCE = 500


@dataclass
class LostRows:
    """For the holder of the relay's lease alone, before it sends. `topics` are those that the service writes."""

    database: Database
    producer: Producer
    brokers: Brokers
    clock: Clock
    topics: Sequence[str]
    _cluster: str | None = None
    _looked: float = float("-inf")

    async def rearm(self) -> int:
        """How many rows are pending again. Raises ServerUnavailable or WriteConflict: the next call does the rest."""
        lost = await self._after_a_new_cluster()
        if self.clock.monotonic() - self._looked >= LOOK_S:
            lost += await self._beyond_the_ends()
            self._looked = self.clock.monotonic()
        return lost

    def suspect(self) -> None:
        """Sending failed: look at the topics and their ends at the next call."""
        self._looked = float("-inf")

    async def overwritten(self, rows: Sequence[Document], positions: Sequence[Position]) -> int:
        """How many rows are pending again because these, sent after them, were acknowledged before them.

        That tells of a partition which was emptied and has grown again; its end alone would not.
        """
        firsts: dict[Place, int] = {}
        for row, position in zip(rows, positions, strict=True):
            place = (row["topic"], position.partition)
            firsts[place] = min(firsts.get(place, position.offset), position.offset)
        lost = await self._make_pending_from(firsts)
        if lost:
            log.warning("a topic was emptied meanwhile: %d messages are sent again", lost)
        return lost

    async def _after_a_new_cluster(self) -> int:
        cluster = await self.producer.cluster_id()
        if cluster == self._cluster:
            return 0
        lost = 0
        known = await self.database.get(BUS, CLUSTER)
        if known is not None and known["id"] != cluster:
            await self.brokers.make_topics()
            while rows := await self.database.find(OUTBOX, {"status": SENT}, limit=_BATCH):
                lost += await self._make_pending(rows)
            log.warning("the bus began afresh, empty: %d messages are sent again", lost)
        await self.database.put(BUS, {"_id": CLUSTER, "id": cluster})
        self._cluster = cluster
        return lost

    async def _beyond_the_ends(self) -> int:
        await self.brokers.make_topics()
        lost = await self._make_pending_from(await self.brokers.ends(self.topics))
        if lost:
            log.warning("the bus has lost its latest records: %d messages are sent again", lost)
        return lost

    async def _make_pending_from(self, ends: Mapping[Place, int]) -> int:
        lost = 0
        for (topic, partition), end in ends.items():
            # The status is no part of the question: a server might answer it from the index of the status, which holds
            # every row that was ever sent (SecantusDB: seconds instead of milliseconds, each minute and each sending).
            where = {"topic": topic, "partition": partition, "offset": {"$gte": end}}
            found = await self.database.find(OUTBOX, where)
            lost += await self._make_pending([row for row in found if row["status"] == SENT])
        return lost

    async def _make_pending(self, rows: Sequence[Document]) -> int:
        for first in range(0, len(rows), _AT_ONCE):
            async with self.database.transaction() as tx:
                for row in rows[first : first + _AT_ONCE]:
                    await tx.update(OUTBOX, row["_id"], {"status": PENDING})
        return len(rows)
