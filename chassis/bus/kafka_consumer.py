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
from kafka.structs import MemberState

from chassis.bus.kafka_connection import (
    REQUEST_MS,
    AdminConnection,
    ClientThread,
    connection_settings,
    translated,
    unavailable,
)
from chassis.bus.ports import Record
from chassis.errors import ServerUnavailable

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
    """Polls in a thread of its own; builds its client at the first poll and anew after an error.

    Offsets mean nothing on a cluster that began afresh: it may have grown past the place at which a reader stood. So
    the brokers are asked for the cluster's id after each poll, and what was polled across a change is thrown away.
    """

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
        self._admin = AdminConnection(bootstrap, f"{client_id}-cluster")
        self._cluster = ""
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

    def _connect(self, cluster: str) -> Any:
        raise NotImplementedError

    def _poll(self, timeout_s: float) -> list[Record]:
        try:
            with translated():
                if self._client is None:
                    self._cluster = self._admin.cluster_id()
                    self._client = self._connect(self._cluster)
                    self._heard = time.monotonic()
                polled = self._client.poll(timeout_ms=int(timeout_s * 1_000))
                _go_on_joining(self._client)
                # The client reconnects silently for ever; after some silence see whether anybody is there.
                if polled or time.monotonic() - self._heard > SILENCE_S:
                    self._refuse_another_cluster()
                    self._heard = time.monotonic()
        except Exception:
            self._discard()
            raise
        return [_record(record) for batch in polled.values() for record in batch]

    def _refuse_another_cluster(self) -> None:
        if self._admin.cluster_id() != self._cluster:
            raise unavailable("it began afresh, empty")

    def _discard(self) -> None:
        self._admin.close()
        client, self._client = self._client, None
        if client is not None:
            with suppress(KafkaError):  # leaving is a courtesy: the session ends by itself
                client.close(autocommit=False, timeout_ms=2_000)


def _go_on_joining(client: Any) -> None:
    """When topics have changed and a poll ends before the group has answered, kafka-python (3.0.12) forgets that it was
    joining and waits for ever. The brokers' own client had the same fault and mended it like this (KAFKA-9815).
    """
    if client.group_metadata().state == MemberState.REBALANCING:
        client._coordinator.request_rejoin()


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

    def _connect(self, cluster: str) -> Any:
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

    Several readers of one group each get everything. Without a membership a broker takes every commit, also one of
    records that the cluster before it gave; so the group's name ends in the cluster's id.
    """

    def _connect(self, cluster: str) -> Any:
        client = kafka.KafkaConsumer(**{**self._settings, "group_id": f"{self._settings['group_id']}.{cluster}"})
        try:
            client.assign([place for topic in self.topics for place in _places(client, topic)])
        except (KafkaError, ServerUnavailable):
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
