"""The clients of the bus that the settings name: the one place that knows how the kinds of broker differ.

Tansu speaks Kafka's protocol and keeps everything in memory. Measured faults of version 0.6, and what is done instead:
an idempotent producer loses acknowledged records when the broker is killed (so no idempotence, one request at a time);
a group may wedge for good (so one reader takes all partitions, and the group keeps offsets alone); end offsets are
wrong (so nobody asks for them: a broker that began afresh is known by its cluster id).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chassis.bus import admin
from chassis.bus.kafka_consumer import KafkaConsumer, WholeTopicsConsumer
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import BusKind, Place
from chassis.topics import TopicCatalog


@dataclass(frozen=True)
class BusClients:
    """`bootstrap` is "host:port" or several, separated by commas. Implements `Brokers` for the bus itself."""

    bootstrap: str
    kind: BusKind
    topics: TopicCatalog

    @property
    def has_groups(self) -> bool:
        """Whether members of a group may share its partitions, as Faust's do."""
        return self.kind == "kafka"

    def producer(self, client_id: str) -> KafkaProducer:
        """See KafkaProducer."""
        return KafkaProducer(self.bootstrap, client_id, idempotent=self.kind == "kafka")

    def consumer(self, group: str, topics: Sequence[str], client_id: str) -> KafkaConsumer:
        """See KafkaConsumer and WholeTopicsConsumer."""
        kind = KafkaConsumer if self.has_groups else WholeTopicsConsumer
        return kind(self.bootstrap, group, topics, client_id=client_id)

    async def cluster_id(self) -> str:
        """Another one than before: what was on the bus is gone. Raises ServerUnavailable."""
        return await admin.cluster_id(self.bootstrap)

    async def ping(self) -> None:
        """Raises ServerUnavailable."""
        await admin.ping(self.bootstrap)

    async def make_topics(self) -> None:
        """See Brokers."""
        await admin.create_topics(self.bootstrap, self.topics)

    async def partitions(self) -> Mapping[str, int]:
        """See Brokers."""
        return await admin.partitions(self.bootstrap)

    async def lags(self, groups: Mapping[str, Collection[str]]) -> Mapping[str, int | None]:
        """See Brokers."""
        return await admin.lags(self.bootstrap, groups) if self.kind == "kafka" else dict.fromkeys(groups)

    async def ends(self, topics: Collection[str]) -> Mapping[Place, int]:
        """See Brokers."""
        return await admin.end_offsets(self.bootstrap, topics) if self.kind == "kafka" else {}
