"""The consumer loop: poll, deliver, commit. A server that is away holds the loop up; it never loses a record."""

import asyncio
import logging
from dataclasses import dataclass, field

from chassis.bus.ports import Consumer, Record
from chassis.dispatch import Dispatcher
from chassis.errors import ServerUnavailable

log = logging.getLogger(__name__)

POLL_S = 0.5
PAUSE_S = 1.0


@dataclass
class ConsumerLoop:
    """One member of the service's consumer group."""

    consumer: Consumer
    dispatcher: Dispatcher
    _undelivered: list[Record] = field(default_factory=list)
    _delivered: list[Record] = field(default_factory=list)

    async def turn(self) -> None:
        """One batch, as far as it goes; where a server is away the rest stays for the next turn."""
        try:
            if not self._undelivered:
                self._undelivered = await self.consumer.poll(POLL_S)
            await self._deliver()
        except ServerUnavailable as error:
            log.warning("%s; waiting %.0f s", error, PAUSE_S)
            await asyncio.sleep(PAUSE_S)

    async def _deliver(self) -> None:
        while self._undelivered:
            await self.dispatcher.deliver(self._undelivered[0])
            self._delivered.append(self._undelivered.pop(0))
        if self._delivered:
            await self.consumer.commit(self._delivered)
            self._delivered = []
