"""What a broker acknowledged and has no more: those rows of the outbox become pending again.

A bus may come back empty (another cluster id) or shorter than it was (a topic made anew). Every row keeps its topic,
partition and offset for as long as a message lives; consumers know by their inbox what they have handled.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from chassis.bus.ports import Brokers, Producer
from chassis.clock import Clock
from chassis.documents.ports import Database, Filter
from chassis.unit_of_work import OUTBOX

log = logging.getLogger(__name__)

PENDING = "pending"
SENT = "sent"
BUS = "bus"
CLUSTER = "cluster"
LOOK_S = 60.0
_BATCH = 500


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
        """How many rows are pending again. Raises ServerUnavailable; what was not done is done at the next call."""
        lost = await self._after_a_new_cluster()
        if self.clock.monotonic() - self._looked >= LOOK_S:
            lost += await self._beyond_the_ends()
            self._looked = self.clock.monotonic()
        return lost

    async def _after_a_new_cluster(self) -> int:
        cluster = await self.producer.cluster_id()
        if cluster == self._cluster:
            return 0
        lost = 0
        known = await self.database.get(BUS, CLUSTER)
        if known is not None and known["id"] != cluster:
            await self.brokers.make_topics()
            lost = await self._make_pending({"status": SENT})
            log.warning("the bus began afresh, empty: %d messages are sent again", lost)
        await self.database.put(BUS, {"_id": CLUSTER, "id": cluster})
        self._cluster = cluster
        return lost

    async def _beyond_the_ends(self) -> int:
        lost = 0
        for (topic, partition), end in (await self.brokers.ends(self.topics)).items():
            lost += await self._make_pending(
                {"topic": topic, "partition": partition, "offset": {"$gte": end}, "status": SENT}
            )
        if lost:
            log.warning("the bus has lost its latest records: %d messages are sent again", lost)
        return lost

    async def _make_pending(self, where: Filter) -> int:
        count = 0
        while rows := await self.database.find(OUTBOX, where, limit=_BATCH):
            for row in rows:
                await self.database.update(OUTBOX, row["_id"], {"status": PENDING}, expected={"status": SENT})
            count += len(rows)
        return count
