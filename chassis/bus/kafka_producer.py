"""The producer of a service over kafka-python."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import kafka
from kafka.errors import KafkaError

from chassis.bus.kafka_connection import (
    REQUEST_MS,
    ClientThread,
    check_reachable,
    connection_settings,
    translated,
    unavailable,
)
from chassis.bus.ports import Message, Position

DELIVERY_MS = 15_000
METADATA_MS = 5_000
CLOSE_S = 5.0


class KafkaProducer:
    """Connects at the first sending. After a failure the client is thrown away, so that nothing it still holds
    is sent behind the back of a caller who tries again; the next sending builds a new one.

    `idempotent` lets the broker drop what a retry repeats; leave it off for brokers that get it wrong (Tansu).
    """

    def __init__(self, bootstrap: str, client_id: str, *, idempotent: bool = True) -> None:
        self._bootstrap = bootstrap
        self._settings = {
            **connection_settings(bootstrap, client_id),
            "acks": "all",
            "enable_idempotence": idempotent,
            "max_in_flight_requests_per_connection": 5 if idempotent else 1,
            "delivery_timeout_ms": DELIVERY_MS,
            "max_block_ms": METADATA_MS,
            "allow_auto_create_topics": False,
            # Linger a moment: the relay hands over many messages at once.
            "linger_ms": 2,
        }
        self._thread = ClientThread(f"producer-{client_id}")
        self._client: Any = None

    async def send_all(self, messages: Sequence[Message]) -> list[Position]:
        """See Producer. Answers within about 25 s."""
        return await self._thread.start(lambda: self._send_all(messages))

    async def cluster_id(self) -> str:
        """See Producer. Asks the brokers."""
        return await self._thread.start(self._cluster_id)

    async def close(self) -> None:
        """See Producer."""
        await self._thread.stop(self._discard)

    def _connected(self) -> Any:
        with translated():
            if self._client is None:
                check_reachable(self._bootstrap)
                self._client = kafka.KafkaProducer(**self._settings)
        return self._client

    def _cluster_id(self) -> str:
        # The client's metadata are the only way to learn whom this very client talks to, and whom it will send to.
        metadata, answered = self._connected()._metadata, threading.Event()
        update = metadata.request_update().add_both(lambda _: answered.set())
        if not answered.wait(METADATA_MS / 1_000) or update.failed():
            self._discard()
            raise unavailable(update.exception or "no metadata in time")
        return str(metadata.cluster_id)

    def _send_all(self, messages: Sequence[Message]) -> list[Position]:
        self._connected()
        futures, refused = self._hand_over(messages)
        positions = []
        deadline = time.monotonic() + (DELIVERY_MS + REQUEST_MS) / 1_000
        for future in futures:  # all of them, so that none is still under way when a failure is reported
            try:
                sent = future.get(timeout=max(0.0, deadline - time.monotonic()))
                positions.append(Position(sent.partition, sent.offset))
            except KafkaError as error:
                refused = refused or error
        if refused is not None:
            self._discard()
            raise unavailable(repr(refused)) from refused
        return positions

    def _hand_over(self, messages: Sequence[Message]) -> tuple[list[Any], KafkaError | None]:
        futures: list[Any] = []
        for message in messages:
            try:
                futures.append(
                    self._client.send(
                        message.topic, key=message.key, value=message.value, headers=list(message.headers)
                    )
                )
            except KafkaError as error:  # the topic's partitions did not become known in time
                return futures, error
        return futures, None

    def _discard(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(KafkaError):  # nothing is left in it that anybody waits for
                client.close(timeout=CLOSE_S)
