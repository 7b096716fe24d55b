"""A bus in memory: topics, partitions, groups and their offsets, with the behaviour of the real one."""

import asyncio
import logging
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from chassis.bus.ports import Message, Place, Position, Record
from chassis.errors import ServerUnavailable

log = logging.getLogger(__name__)


class FakeBus:
    """Topics are made at their first message, `partitions` each. Set `answering` to False to take the bus away."""

    def __init__(self, partitions: int = 4) -> None:
        self.answering = True
        self.cluster_id = "fake-1"
        self.partitions = partitions
        self.times_made = 0
        self.topics: dict[str, list[list[Record]]] = defaultdict(lambda: [[] for _ in range(partitions)])
        self.committed: dict[str, dict[Place, int]] = defaultdict(dict)
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

    def lose_everything(self) -> None:
        """Begin afresh: no records, no offsets, another identity; readers hear of it at their next poll."""
        self.cluster_id = f"fake-{int(self.cluster_id.removeprefix('fake-')) + 1}"
        self.topics.clear()
        self.committed.clear()
        self._news.set()

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

    async def cluster_id(self) -> str:
        """See Producer."""
        self._bus.ping()
        return self._bus.cluster_id

    async def close(self) -> None:
        """See Producer."""


class FakeConsumer:
    """A member of a group on a FakeBus; it joins at once, and every change of membership shares out anew."""

    def __init__(self, bus: FakeBus, group: str, topics: Sequence[str], max_records: int = 200) -> None:
        self.topics = tuple(topics)
        self._bus = bus
        self._cluster = bus.cluster_id
        self._group = group
        self._max_records = max_records
        self._next: dict[Place, int] = {}
        bus.join(group, self)

    def assign(self, places: Collection[Place]) -> None:
        """Called by the bus: read these partitions, each from the group's offset; what was in hand may come again."""
        committed = self._bus.committed[self._group]
        self._next = {place: committed.get(place, 0) for place in sorted(places)}

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

    def _take(self) -> list[Record]:
        self._bus.ping()
        self._refuse_another_cluster()
        taken: list[Record] = []
        for (topic, partition), offset in self._next.items():
            room = self._max_records - len(taken)
            found = self._bus.topics[topic][partition][offset : offset + room]
            self._next[topic, partition] = offset + len(found)
            taken += found
        return taken

    def _refuse_another_cluster(self) -> None:
        if self._cluster != self._bus.cluster_id:
            self._cluster = self._bus.cluster_id
            self.assign(self._next)
            raise ServerUnavailable("bus_unavailable", "the fake bus began afresh, empty")


class FakeBrokers:
    """Answers for a FakeBus."""

    def __init__(self, bus: FakeBus) -> None:
        self._bus = bus

    async def make_topics(self) -> None:
        """See Brokers: a FakeBus makes topics by itself."""
        self._bus.ping()
        self._bus.times_made += 1

    async def ends(self, topics: Collection[str]) -> Mapping[Place, int]:
        """See Brokers."""
        self._bus.ping()
        return {
            (topic, partition): len(records)
            for topic in topics
            for partition, records in enumerate(self._bus.topics[topic])
        }

    async def partitions(self) -> Mapping[str, int]:
        """See Brokers."""
        self._bus.ping()
        return {topic: len(partitions) for topic, partitions in self._bus.topics.items()}

    async def lags(self, groups: Mapping[str, Collection[str]]) -> Mapping[str, int | None]:
        """See Brokers."""
        return {
            group: sum(
                end - self._bus.committed[group].get(place, 0) for place, end in (await self.ends(topics)).items()
            )
            for group, topics in groups.items()
        }
