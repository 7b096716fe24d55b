"""Wakes everybody who waits, unlike chassis.wake, which wakes one loop."""

import asyncio
from contextlib import suppress


class Broadcast:
    """Whoever waits looks again at once. Losing a nudge costs one interval, no more."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """There is news."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, at_most_s: float) -> None:
        """Return at the next news, or after `at_most_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), at_most_s)
