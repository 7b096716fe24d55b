"""Offsets are released in the order of their arrival, however the work on them ends. Pure.

A consumer that commits the highest finished offset would lose what is still in work when it is killed.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Arrival(Generic[T]):
    item: T
    is_done: bool = False


@dataclass
class OrderedAcks(Generic[T]):
    """One queue a partition. What never ends (it was cancelled) holds back everything behind it, so it comes again."""

    _queues: defaultdict[Hashable, deque[_Arrival[T]]] = field(default_factory=lambda: defaultdict(deque))

    def arrived(self, partition: Hashable, item: T) -> _Arrival[T]:
        """Call in the order of the partition; hand the result to `done`."""
        arrival = _Arrival(item)
        self._queues[partition].append(arrival)
        return arrival

    def done(self, partition: Hashable, arrival: _Arrival[T]) -> list[T]:
        """The items that may be committed now, in order."""
        arrival.is_done = True
        queue = self._queues[partition]
        released = []
        while queue and queue[0].is_done:
            released.append(queue.popleft().item)
        return released
