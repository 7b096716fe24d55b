"""Consumers over kafka-python: a member of a group, and a reader of everything for brokers whose groups fail."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import kafka
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)

from chassis.bus.kafka_connection import (
    REQUEST_MS,
    ClientThread,
    check_reachable,
    connection_settings,
    translated,
    unavailable,
)
from chassis.bus.ports import Record

log = logging.getLogger(__name__)

SESSION_MS = 10_000
SILENCE_S = 5.0
MAX_RECORDS = 200
_LOST_MEMBERSHIP = (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)


class _Reader:
    """Polls in a thread of its own; builds its client at the first poll and anew after an error."""

    def __init__(self, bootstrap: str, client_id: str, topics: Sequence[str], max_records: int) -> None:
        self.topics = tuple(topics)
        self._bootstrap = bootstrap
        self._settings: dict[str, Any] = {
            **connection_settings(bootstrap, client_id),
            "enable_auto_commit": False,
            "allow_auto_create_topics": False,
            "max_poll_records": max_records,
        }
        self._thread = ClientThread(f"consumer-{client_id}")
        self._polling: asyncio.Future[list[Record]] | None = None
        self._client: Any = None
        self._cluster: str | None = None
        self._heard = 0.0

    async def poll(self, timeout_s: float) -> list[Record]:
        """See Consumer. A poll that is cancelled goes on, and the next one gets its records: none is skipped."""
        if self._polling is None:
            self._polling = self._thread.start(lambda: self._poll(timeout_s))
        await asyncio.wait({self._polling})
        polled, self._polling = self._polling, None
        return polled.result()

    async def close(self) -> None:
        """See Consumer. Waits for a poll under way."""
        await self._thread.stop(self._discard)

    def _connect(self) -> Any:
        raise NotImplementedError

    def _poll(self, timeout_s: float) -> list[Record]:
        try:
            with translated():
                if self._client is None:
                    check_reachable(self._bootstrap)
                    self._client = self._connect()
                    self._heard = time.monotonic()
                polled = self._client.poll(timeout_ms=int(timeout_s * 1_000))
                self._refuse_another_cluster()
        except Exception:
            self._discard()
            raise
        records = [_record(record) for batch in polled.values() for record in batch]
        self._listen(len(records))
        return records

    def _listen(self, received: int) -> None:
        # The client reconnects silently for ever; after some silence see for ourselves whether anybody is there.
        if not received and time.monotonic() - self._heard > SILENCE_S:
            check_reachable(self._bootstrap)
            received = 1
        if received:
            self._heard = time.monotonic()

    def _refuse_another_cluster(self) -> None:
        # Offsets mean nothing on a cluster that began afresh. The client asks whom it talks to after each lost
        # connection, and offers no other way to the answer.
        cluster, before = self._client._cluster.cluster_id, self._cluster
        self._cluster = cluster
        if before not in (None, cluster):
            raise unavailable("it began afresh, empty")

    def _discard(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(KafkaError):  # leaving is a courtesy: the session ends by itself
                client.close(autocommit=False, timeout_ms=2_000)


class KafkaConsumer(_Reader):
    """A member of a group. The client's own thread keeps the membership alive between polls, for up to 5 minutes."""

    def __init__(
        self, bootstrap: str, group: str, topics: Sequence[str], *, client_id: str, max_records: int = MAX_RECORDS
    ) -> None:
        super().__init__(bootstrap, client_id, topics, max_records)
        self._settings |= {
            "group_id": group,
            "auto_offset_reset": "earliest",
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": SESSION_MS // 3,
        }

    async def commit(self, handled: Sequence[Record]) -> None:
        """See Consumer."""
        await self._thread.start(lambda: self._commit(handled))

    def _connect(self) -> Any:
        return kafka.KafkaConsumer(*self.topics, **self._settings)

    def _commit(self, handled: Sequence[Record]) -> None:
        offsets = self._offsets_of(handled)
        if not offsets:
            return
        try:
            self._client.commit(offsets, timeout_ms=REQUEST_MS)
        except _LOST_MEMBERSHIP as error:
            log.warning("commit of %s refused (%r); the records come again", offsets, error)
        except (KafkaError, OSError) as error:
            raise unavailable(repr(error)) from error

    def _offsets_of(self, handled: Sequence[Record]) -> dict[Any, Any]:
        ours = self._client.assignment() if self._client is not None else set()
        nexts: dict[Any, int] = {}
        for record in handled:
            place = kafka.TopicPartition(record.topic, record.partition)
            if place in ours:
                nexts[place] = max(nexts.get(place, 0), record.offset + 1)
            else:
                log.warning("commit of %s refused: the partition was given to another member", place)
        return {place: kafka.OffsetAndMetadata(offset, "", -1) for place, offset in nexts.items()}


class WholeTopicsConsumer(KafkaConsumer):
    """Reads all partitions itself and uses the group for its offsets alone, for brokers whose groups may wedge.

    Several readers of one group each get everything.
    """

    def _connect(self) -> Any:
        client = kafka.KafkaConsumer(**self._settings)
        try:
            client.assign([place for topic in self.topics for place in _places(client, topic)])
        except KafkaError:
            client.close(autocommit=False, timeout_ms=0)
            raise
        return client


def _places(client: Any, topic: str) -> list[Any]:
    partitions = client.partitions_for_topic(topic)
    if not partitions:
        raise unavailable(f"topic {topic} does not exist yet")
    return [kafka.TopicPartition(topic, partition) for partition in sorted(partitions)]


def _record(received: Any) -> Record:
    headers = tuple((name, value or b"") for name, value in received.headers or ())
    return Record(received.topic, received.partition, received.offset, received.key, received.value, headers)
