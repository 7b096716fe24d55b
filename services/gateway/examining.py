"""Reads what the doctor judges. Every question is bounded; what cannot be read is a finding itself."""

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from chassis.bus.ports import Brokers
from chassis.documents.ports import Documents
from chassis.errors import ServerUnavailable
from chassis.failures import FailedEvent
from chassis.health import Probe, failing_probes
from chassis.jobs import Job
from chassis.leases import LEASES
from chassis.lost_rows import PENDING
from chassis.relay import RELAY_LEASE
from chassis.unit_of_work import OUTBOX
from services.gateway import checks
from services.gateway.checks import Check
from services.gateway.deps import GatewayDeps

PATIENCE_S = 10.0
MOST_ROWS = 1000


@dataclass(frozen=True)
class Examination:
    """`probes` are those of the servers, `data_dir` lies on the disk that is looked at."""

    deps: GatewayDeps
    brokers: Brokers
    probes: Mapping[str, Probe]
    data_dir: Path

    async def run(self) -> list[Check]:
        """All checks, in the order in which one would look."""
        questions: dict[str, Callable[[], Awaitable[Check]]] = {
            "topics": self._topics,
            "consumers": self._lag,
            "services": self._services,
            "jobs": self._jobs,
            "outbox": self._outbox,
            "failures": self._failures,
            "blobs": self._blobs,
        }
        servers = await asyncio.gather(*(self._server(name, probe) for name, probe in self.probes.items()))
        found = await asyncio.gather(*(_answer(name, question) for name, question in questions.items()))
        space = shutil.disk_usage(self.data_dir)
        return [*servers, *found, checks.disk(space.free, space.total)]

    @property
    def _databases(self) -> dict[str, Documents]:
        return {**self.deps.read, self.deps.service: self.deps.database}

    async def _server(self, name: str, probe: Probe) -> Check:
        began = time.monotonic()
        why = await failing_probes({name: probe})
        return checks.server(name, why.get(name), (time.monotonic() - began) * 1_000)

    async def _topics(self) -> Check:
        return checks.topics(self.deps.topics, await self.brokers.partitions())

    async def _lag(self) -> Check:
        groups = {name: [topic.name for topic in self.deps.topics.read_by(name)] for name in self._databases}
        return checks.lag(await self.brokers.lags(groups))

    async def _services(self) -> Check:
        leases = {name: await database.get(LEASES, RELAY_LEASE) for name, database in self._databases.items()}
        return checks.services(
            {name: lease.get("at") if lease else None for name, lease in leases.items()}, self.deps.clock.now()
        )

    async def _jobs(self) -> Check:
        open_ = {"status": {"$in": ["queued", "running"]}}
        rows = {
            name: await database.find(Job.COLLECTION, open_, limit=MOST_ROWS)
            for name, database in self._databases.items()
        }
        return checks.jobs(rows, self.deps.clock.now())

    async def _outbox(self) -> Check:
        oldest = {}
        for name, database in self._databases.items():
            if rows := await database.find(OUTBOX, {"status": PENDING}, limit=MOST_ROWS):
                oldest[name] = min(datetime.fromisoformat(row["time"]) for row in rows)
        return checks.outbox(oldest, self.deps.clock.now())

    async def _failures(self) -> Check:
        not_done = {"status": {"$in": ["retrying", "parked", "dead"]}}
        counts = {}
        for name, database in self._databases.items():
            rows = await database.find(FailedEvent.COLLECTION, not_done, limit=MOST_ROWS)
            counts[name] = Counter(str(row["status"]) for row in rows)
        return checks.failures(counts)

    async def _blobs(self) -> Check:
        return checks.blobs(await self.deps.ingest.get("blob_collection", "latest"), self.deps.clock.now())


async def _answer(name: str, question: Callable[[], Awaitable[Check]]) -> Check:
    try:
        return await asyncio.wait_for(question(), PATIENCE_S)
    except ServerUnavailable as error:
        return Check(name, "error", error.sentence, "see the servers above")
    except TimeoutError:
        return Check(name, "error", f"no answer within {PATIENCE_S:.0f} s", "see the servers above")
