"""The bus as the services see it: records in, messages out, offsets."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

BusKind = Literal["kafka", "tansu"]
"""Tansu speaks Kafka's protocol with some faults, which chassis.bus.clients works round."""

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Message:
    """What is to be sent. Headers are those of the CloudEvents binary mode plus trace context."""

    topic: str
    key: bytes
    value: bytes
    headers: Headers


@dataclass(frozen=True)
class Position:
    """Where the broker put a message."""

    partition: int
    offset: int


@dataclass(frozen=True)
class Record:
    """What was received."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Producer(Protocol):
    """Raises ServerUnavailable when the broker does not acknowledge in time; messages may have arrived all the same."""

    async def send_all(self, messages: Sequence[Message]) -> list[Position]:
        """Send in order, which each partition keeps; returns once all replicas have acknowledged all messages."""

    async def cluster_id(self) -> str:
        """The identity of the cluster it sends to; another one than before: what was on the bus is gone."""

    async def close(self) -> None:
        """Idempotent."""


class Consumer(Protocol):
    """A reader in the name of a consumer group, starting at the earliest record where the group has no offset.

    Once the bus was emptied it raises ServerUnavailable and then starts at the earliest record again.
    """

    async def poll(self, timeout_s: float) -> list[Record]:
        """The next records, in order within a partition; empty after `timeout_s`. Raises ServerUnavailable."""

    async def commit(self, handled: Sequence[Record]) -> None:
        """Everything up to and including these records is done.

        A commit refused by a rebalance is logged only: redelivery is harmless. Raises ServerUnavailable.
        """

    async def close(self) -> None:
        """Leave the group at once. Idempotent."""


Place = tuple[str, int]
"""A topic and one of its partitions."""


class Brokers(Protocol):
    """What is asked of the bus itself. Raises ServerUnavailable."""

    async def make_topics(self) -> None:
        """Make those topics of the catalog that are not there."""

    async def partitions(self) -> Mapping[str, int]:
        """The topics that are there, with how many partitions each has."""

    async def lags(self, groups: Mapping[str, Collection[str]]) -> Mapping[str, int | None]:
        """Of each group, with its topics, the records not committed; None where the brokers cannot be believed."""

    async def ends(self, topics: Collection[str]) -> Mapping[Place, int]:
        """The offset that comes next in each partition; nothing where the brokers cannot be believed."""
