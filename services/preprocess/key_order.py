"""Work of one key happens in the order in which it came, work of different keys side by side."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class KeyOrder:
    """For tasks of one event loop. Keys are forgotten once nobody works on them."""

    _locks: dict[bytes, asyncio.Lock] = field(default_factory=dict)
    _users: dict[bytes, int] = field(default_factory=dict)

    @asynccontextmanager
    async def turn_of(self, key: bytes) -> AsyncIterator[None]:
        """Inside, nobody else works on the key; turns are taken in the order of the calls."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]
