"""A bus in memory: topics, partitions, groups and their offsets, with the behaviour of the real one."""

import asyncio
import logging
import zlib
from collections import defaultdict
from collections.abc import Sequence

from chassis.bus.ports import Message, Position, Record
from chassis.errors import ServerUnavailable

log = logging.getLogger(__name__)

_Place = tuple[str, int]


class FakeBus:
    """Topics are made at their first message, `partitions` each. Set `answering` to False to take the bus away."""

    def __init__(self, partitions: int = 4) -> None:
        self.answering = True
        self.partitions = partitions
        self.topics: dict[str, list[list[Record]]] = defaultdict(lambda: [[] for _ in range(partitions)])
        self.committed: dict[str, dict[_Place, int]] = defaultdict(dict)
        """Of each group the next offset to read, by topic and partition."""
        self._members: dict[str, list[FakeConsumer]] = defaultdict(list)
        self._news = asyncio.Event()

    def ping(self) -> None:
        """Raises ServerUnavailable."""
        if not self.answering:
            raise ServerUnavailable("bus_unavailable", "the fake bus was told not to answer")

    def append(self, message: Message) -> Position:
        """Put the message at the end of the partition its key belongs to, and wake the readers."""
        self.ping()
        partition = zlib.crc32(message.key) % self.partitions
        log_ = self.topics[message.topic][partition]
        log_.append(Record(message.topic, partition, len(log_), message.key, message.value, message.headers))
        self._news.set()
        return Position(partition, len(log_) - 1)

    def records(self, topic: str) -> list[Record]:
        """All records of a topic, partition by partition."""
        return [record for partition in self.topics[topic] for record in partition]

    async def news(self) -> None:
        """Returns at the next message (or rebalance)."""
        self._news.clear()
        await self._news.wait()

    def join(self, group: str, consumer: "FakeConsumer") -> None:
        """Add a member and share out the partitions anew."""
        self._members[group].append(consumer)
        self._rebalance(group)

    def leave(self, group: str, consumer: "FakeConsumer") -> None:
        """Remove a member and share out the partitions anew."""
        if consumer in self._members[group]:
            self._members[group].remove(consumer)
            self._rebalance(group)

    def _rebalance(self, group: str) -> None:
        members = self._members[group]
        for rank, member in enumerate(members):
            member.assign(
                {
                    (topic, partition)
                    for topic in member.topics
                    for partition in range(self.partitions)
                    if partition % len(members) == rank
                }
            )
        self._news.set()


class FakeProducer:
    """A producer onto a FakeBus. `sent` holds every acknowledged message in order."""

    def __init__(self, bus: FakeBus) -> None:
        self.sent: list[Message] = []
        self._bus = bus

    async def send_all(self, messages: Sequence[Message]) -> list[Position]:
        """See Producer."""
        await asyncio.sleep(0)
        positions = []
        for message in messages:
            positions.append(self._bus.append(message))
            self.sent.append(message)
        return positions

    async def close(self) -> None:
        """See Producer."""


class _Reader:
    """Reads partitions from `self._next`, which maps each to the offset that comes next."""

    def __init__(self, bus: FakeBus, max_records: int) -> None:
        self._bus = bus
        self._max_records = max_records
        self._next: dict[_Place, int] = {}

    async def poll(self, timeout_s: float) -> list[Record]:
        """See Consumer."""
        await asyncio.sleep(0)
        records = self._take()
        try:
            async with asyncio.timeout(timeout_s):
                while not records:
                    await self._bus.news()
                    records = self._take()
        except TimeoutError:
            return []
        return records

    def _take(self) -> list[Record]:
        self._bus.ping()
        taken: list[Record] = []
        for (topic, partition), offset in self._next.items():
            room = self._max_records - len(taken)
            found = self._bus.topics[topic][partition][offset : offset + room]
            self._next[topic, partition] = offset + len(found)
            taken += found
        return taken


class FakeConsumer(_Reader):
    """A member of a group on a FakeBus; it joins at once, and every change of membership shares out anew."""

    def __init__(self, bus: FakeBus, group: str, topics: Sequence[str], max_records: int = 200) -> None:
        super().__init__(bus, max_records)
        self.topics = tuple(topics)
        self._group = group
        bus.join(group, self)

    def assign(self, places: set[_Place]) -> None:
        """Called by the bus: read these partitions, each from the group's offset; what was in hand may come again."""
        committed = self._bus.committed[self._group]
        self._next = {place: committed.get(place, 0) for place in sorted(places)}

    async def commit(self, handled: Sequence[Record]) -> None:
        """See Consumer."""
        await asyncio.sleep(0)
        self._bus.ping()
        for record in handled:
            place = (record.topic, record.partition)
            if place not in self._next:
                log.warning("commit of %s refused: the partition was given to another member", place)
                continue
            committed = self._bus.committed[self._group]
            committed[place] = max(committed.get(place, 0), record.offset + 1)

    async def close(self) -> None:
        """See Consumer."""
        self._next = {}
        self._bus.leave(self._group, self)


class FakeTail(_Reader):
    """A reader of all partitions, without a group, of what comes after it was made."""

    def __init__(self, bus: FakeBus, topics: Sequence[str], max_records: int = 200) -> None:
        super().__init__(bus, max_records)
        self._next = {
            (topic, partition): len(bus.topics[topic][partition])
            for topic in topics
            for partition in range(bus.partitions)
        }

    async def commit(self, handled: Sequence[Record]) -> None:
        """A tail has no group, so there is nothing to commit."""

    async def close(self) -> None:
        """See Consumer."""
        self._next = {}
