"""From a record to its handler: decoded, traced, once, in order per key, with its failures kept."""

import asyncio
import logging
import random
import time
from dataclasses import dataclass

from chassis.bus.cloudevents import decode, trace_headers
from chassis.bus.ports import Record
from chassis.deps import Deps, Handlers
from chassis.errors import AlreadyHandled, PermanentError, ServerUnavailable, TransientError, WriteConflict
from chassis.failures import FailedEvent, Failures, key_of
from chassis.metrics import EVENTS_HANDLED, HANDLING_SECONDS
from chassis.telemetry import process_span, record_failure
from schemas.base import Event

log = logging.getLogger(__name__)

CONFLICT_ATTEMPTS = 10
CONFLICT_PAUSE_S = 0.02


@dataclass
class Dispatcher:
    """Delivers records to the handlers of one service."""

    handlers: Handlers
    deps: Deps
    failures: Failures

    async def deliver(self, record: Record) -> None:
        """Handle it, or keep it among the failures: afterwards its offset may be committed.

        Raises ServerUnavailable, and only that: deliver the same record again once the server answers.
        """
        try:
            event = decode(record)
        except PermanentError as error:
            log.warning("%s", error)
            await self.failures.failed(record, error)
            return
        if type(event) not in self.handlers:
            return
        if await self.failures.blocks(key_of(record)):
            await self.failures.park(record)
            return
        error_or_none = await self._attempt(record, event)
        if error_or_none is not None:
            await self.failures.failed(record, error_or_none)

    async def retry_due(self) -> int:
        """Another attempt at every failed event whose time has come; how many."""
        due = await self.failures.due()
        for row in due:
            await self._retry(row)
        return len(due)

    async def _retry(self, row: FailedEvent) -> None:
        record = row.record()
        try:
            error = await self._attempt(record, decode(record))
        except PermanentError as unreadable:
            error = unreadable
        if error is None:
            await self.failures.succeeded(row)
        else:
            await self.failures.failed_again(row, error)

    async def _attempt(self, record: Record, event: Event) -> Exception | None:
        started = time.perf_counter()
        with process_span(record, self.deps.service, event.meta.id, event.TYPE, trace_headers(record)) as span:
            try:
                outcome = await self._handle(event)
            except ServerUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a handler raises is kept with its event, never lost
                _log_failure(event, error)
                record_failure(span, type(error).__name__, str(error))
                EVENTS_HANDLED.labels(self.deps.service, event.TYPE, "failed").inc()
                return error
        EVENTS_HANDLED.labels(self.deps.service, event.TYPE, outcome).inc()
        HANDLING_SECONDS.labels(self.deps.service, event.TYPE).observe(time.perf_counter() - started)
        return None

    async def _handle(self, event: Event) -> str:
        handler = self.handlers[type(event)]
        for attempt in range(1, CONFLICT_ATTEMPTS + 1):
            try:
                await handler(event, self.deps)
            except AlreadyHandled:
                return "duplicate"
            except WriteConflict:
                if attempt == CONFLICT_ATTEMPTS:
                    raise
                # Growing and jittered: transactions that met once do not meet again in step.
                await asyncio.sleep(CONFLICT_PAUSE_S * attempt * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
            else:
                return "handled"
        raise AssertionError("the loop above returns or raises")


def _log_failure(event: Event, error: Exception) -> None:
    if isinstance(error, PermanentError | TransientError):
        log.warning("%s %s: %s", event.TYPE, event.key, error)
    else:
        log.error("%s %s failed", event.TYPE, event.key, exc_info=error)
