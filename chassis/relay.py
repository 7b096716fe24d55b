"""The outbox relay: the only producer of a service. At least once, and per key in the order of the revisions."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from chassis.bus.cloudevents import encode
from chassis.bus.ports import Message, Position, Producer
from chassis.clock import Clock
from chassis.documents.ports import Database, Document
from chassis.errors import ServerUnavailable, WriteConflict
from chassis.leases import LeaderLease
from chassis.lost_rows import PENDING, SENT, LostRows
from chassis.metrics import OUTBOX_AGE, OUTBOX_SENT
from chassis.telemetry import current_traceparent, send_span
from chassis.unit_of_work import OUTBOX
from chassis.wake import Wake
from schemas.catalog import EVENTS

log = logging.getLogger(__name__)

RELAY_LEASE = "outbox-relay"
BEFORE_SENDING = "relay.before_sending"
BATCH = 500
IDLE_S = 2.0


@dataclass
class OutboxRelay:
    """Sends pending rows while it holds the service's relay lease. `reach` is told of the places where a test kills."""

    service: str
    database: Database
    producer: Producer
    lease: LeaderLease
    clock: Clock
    wake: Wake
    lost: LostRows
    reach: Callable[[str], None] = lambda place: None

    async def turn(self) -> None:
        """One look at the outbox; waits for a nudge when there was nothing to send."""
        try:
            sent = await self._send_as_leader() if await self.lease.hold() else 0
        except ServerUnavailable as error:
            log.warning("outbox: %s; rows stay pending and are sent when it answers again", error)
            self.lost.suspect()
            sent = 0
        except WriteConflict:  # a row expired meanwhile, say
            log.info("outbox: somebody else was at the same rows; they are looked at again")
            sent = 0
        if not sent:
            await self.wake.wait(IDLE_S)

    async def _send_as_leader(self) -> int:
        rows = await self._pending()
        # Before the bus is asked for anything: the number matters most while the bus is away.
        OUTBOX_AGE.labels(self.service).set(self._oldest_s(rows))
        if await self.lost.rearm():
            rows = await self._pending()
        return await self._send(rows)

    async def send_pending(self) -> int:
        """Send what is pending; how many rows. Raises ServerUnavailable or WriteConflict: unmarked rows go again."""
        return await self._send(await self._pending())

    def _oldest_s(self, rows: list[Document]) -> float:
        ages = [(self.clock.now() - datetime.fromisoformat(row["time"])).total_seconds() for row in rows]
        return max(0.0, *ages) if ages else 0.0

    async def _send(self, rows: list[Document]) -> int:
        if not rows:
            return 0
        self.reach(BEFORE_SENDING)
        with ExitStack() as spans:
            positions = await self.producer.send_all([self._message(row, spans) for row in rows])
        if not await self.lost.overwritten(rows, positions):  # else these go again too, behind those before them
            await self._mark_sent(list(zip(rows, positions, strict=True)))
        OUTBOX_SENT.labels(self.service).inc(len(rows))
        return len(rows)

    async def _pending(self) -> list[Document]:
        # A transaction reads one snapshot: where revision n + 1 of a key is seen, n is seen too.
        async with self.database.transaction() as view:
            rows = await view.find(OUTBOX, {"status": PENDING}, limit=BATCH)
            if len(rows) == BATCH:
                # The limit may have left out an earlier revision of a key: read each key in full.
                keys = {row["key"] for row in rows}
                rows = [row for key in keys for row in await view.find(OUTBOX, {"key": key, "status": PENDING})]
        return sorted(rows, key=lambda row: (row["key"], row["rev"]))

    def _message(self, row: Document, spans: ExitStack) -> Message:
        """The row as a message; its span ends with the others of the batch, once the broker has acknowledged them."""
        spans.enter_context(send_span(row["topic"], row["key"], row["type"], row["traceparent"]))
        key, value, headers = encode(
            EVENTS[row["type"]].model_validate_json(row["data"]),
            event_id=row["_id"],
            source=f"/easyloop/{self.service}",
            time=row["time"],
            rev=row["rev"],
            traceparent=current_traceparent(),
        )
        return Message(row["topic"], key, value, headers)

    async def _mark_sent(self, sent: Sequence[tuple[Document, Position]]) -> None:
        for first in range(0, len(sent), BATCH):
            async with self.database.transaction() as tx:
                for row, position in sent[first : first + BATCH]:
                    await tx.update(OUTBOX, row["_id"], self._marks(row, position))

    def _marks(self, row: Document, position: Position) -> Document:
        return {
            "status": SENT,
            "partition": position.partition,
            "offset": position.offset,
            # Of the first sending: a row must not outlive the marks in the inboxes of those who handled it.
            "sent_at": row.get("sent_at") or self.clock.now(),
        }
