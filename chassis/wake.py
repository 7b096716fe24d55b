"""A nudge between tasks: whoever waits looks again at once instead of at its next turn."""

import asyncio


class Wake:
    """Set by those who made work, awaited by the one loop that does it. Losing a nudge costs one interval, no more."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """There is work."""
        self._event.set()

    async def wait(self, at_most_s: float) -> None:
        """Return when set, or after `at_most_s`."""
        try:
            await asyncio.wait_for(self._event.wait(), at_most_s)
        except TimeoutError:
            return
        finally:
            self._event.clear()
