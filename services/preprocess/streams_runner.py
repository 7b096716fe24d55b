"""The streams of preprocess on Faust: chunks are worked on side by side; the chassis decides what becomes of each.

Faust brings records and commits offsets, nothing more: inbox, failures and traces are those of every other service,
Mongo decides what is done, and what Faust should ever skip is found by the sweep (sweeping.py).
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faust

from chassis.bus.ports import Record
from chassis.errors import ServerUnavailable
from services.preprocess.key_order import KeyOrder
from services.preprocess.ordered_acks import OrderedAcks

log = logging.getLogger(__name__)

SESSION_TIMEOUT_S = 6
HEARTBEAT_S = 2
COMMIT_INTERVAL_S = 1.0
LOOK_S = 0.2
PAUSE_S = 1.0
STOP_S = 12.0
EXIT_STUCK = 1

IDENTITY_S = 5.0

Deliver = Callable[[Record], Awaitable[None]]
Identity = Callable[[], Awaitable[str]]
"""Asks the brokers for the id of their cluster. Raises ServerUnavailable."""


class StreamsFailed(RuntimeError):
    """Faust has stopped by itself; the process must be started afresh."""


@dataclass(frozen=True)
class StreamPlace:
    """Where the streams read: brokers as host:port separated by commas, group, topics, a folder of their own."""

    bootstrap_servers: str
    group: str
    topics: Sequence[str]
    folder: Path
    concurrency: int


class Streams:
    """`turn` and `close` belong into the service's loops and closers.

    Faust joins the group of a cluster that came in the place of another by itself, but goes on with acknowledgements of
    the old one, whose offsets mean nothing there: so another cluster ends the streams.
    """

    def __init__(self, place: StreamPlace, deliver: Deliver, identity: Identity) -> None:
        self._place = place
        self._deliver = deliver
        self._identity = identity
        self._cluster = ""
        self._asked = 0.0
        self._keys = KeyOrder()
        self._acks: OrderedAcks[Any] = OrderedAcks()
        self._app: Any = None
        self._fault: BaseException | None = None

    async def turn(self) -> None:
        """Start at the first call; afterwards look whether all is well. Raises StreamsFailed when it is not."""
        if self._app is None:
            self._cluster = await self._identity()
            self._app = self._build()
            await self._app.start()
        await asyncio.sleep(LOOK_S)
        await self._look_at_the_cluster()
        fault = self._fault or self._app.crash_reason
        if fault is not None or self._app.should_stop:
            await self.close()
            raise StreamsFailed(f"the streams have stopped: {fault!r}; the service starts afresh") from fault

    async def close(self) -> None:
        """Stop reading; what is in work is not committed and comes again. Idempotent."""
        if self._app is None:
            return
        app, self._app = self._app, None
        # Faust joins its threads inside the event loop: only another thread can still end a stop that hangs.
        last_resort = threading.Timer(STOP_S, _leave)
        last_resort.daemon = True
        last_resort.start()
        await app.stop()
        last_resort.cancel()

    async def _look_at_the_cluster(self) -> None:
        if time.monotonic() - self._asked < IDENTITY_S:
            return
        self._asked = time.monotonic()
        try:
            cluster = await self._identity()
        except ServerUnavailable:
            return  # Faust waits for the brokers by itself
        if cluster != self._cluster:
            self._fault = self._fault or StreamsFailed(f"the bus is another cluster than before ({cluster})")

    def _build(self) -> Any:
        place = self._place
        place.folder.mkdir(parents=True, exist_ok=True)  # Faust makes no parents
        app = faust.App(
            place.group,
            broker=[f"kafka://{address}" for address in place.bootstrap_servers.split(",")],
            datadir=str(place.folder),
            store="memory://",
            autodiscover=False,
            web_enabled=False,
            topic_disable_leader=True,
            topic_allow_declare=False,
            broker_session_timeout=SESSION_TIMEOUT_S,
            broker_heartbeat_interval=HEARTBEAT_S,
            broker_commit_interval=COMMIT_INTERVAL_S,
            broker_max_poll_records=4 * place.concurrency,
            stream_buffer_maxsize=4 * place.concurrency,
            consumer_auto_offset_reset="earliest",
            stream_wait_empty=False,
        )
        topic = app.topic(*place.topics, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
        app.agent(topic, concurrency=place.concurrency, name=place.group)(self._consume)
        return app

    async def _consume(self, stream: Any) -> None:
        manual = stream.noack()
        async for event in manual.events():
            arrival = self._acks.arrived(event.message.tp, event)
            await self._see_through(_record(event))
            for finished in self._acks.done(event.message.tp, arrival):
                await manual.ack(finished)

    async def _see_through(self, record: Record) -> None:
        async with self._keys.turn_of(record.key or b""):
            while True:
                try:
                    return await self._deliver(record)
                except ServerUnavailable as error:
                    log.warning("%s; waiting %.0f s", error, PAUSE_S)
                    await asyncio.sleep(PAUSE_S)
                except Exception as error:
                    self._fault = error
                    raise


def _record(event: Any) -> Record:
    message = event.message
    headers = message.headers.items() if isinstance(message.headers, dict) else message.headers or ()
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=tuple((name, bytes(value or b"")) for name, value in headers),
    )


def _leave() -> None:
    log.error("the streams did not stop within %.0f s; the process ends", STOP_S)
    os._exit(EXIT_STUCK)
