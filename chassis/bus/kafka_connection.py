"""What every Kafka client here shares: settings that bound each wait, a thread of its own, our words for its errors."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import kafka
from kafka.errors import KafkaError

from chassis.errors import ServerUnavailable

T = TypeVar("T")

PROBE_S = 3.0
BOOTSTRAP_MS = 5_000
REQUEST_MS = 10_000


def connection_settings(bootstrap: str, client_id: str) -> dict[str, Any]:
    """Settings common to all clients. `bootstrap` is "host:port" or several, separated by commas."""
    return {
        "bootstrap_servers": bootstrap.split(","),
        "client_id": client_id,
        "bootstrap_timeout_ms": BOOTSTRAP_MS,
        "request_timeout_ms": REQUEST_MS,
        "reconnect_backoff_max_ms": 1_000,
        "metadata_max_age_ms": 30_000,
    }


def check_reachable(bootstrap: str) -> None:
    """Raises ServerUnavailable unless a broker accepts a connection.

    Asked before a client is built: a constructor that fails leaves a thread running for good (kafka-python 3.0).
    """
    reasons = []
    for address in bootstrap.split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=PROBE_S).close()
        except OSError as error:
            reasons.append(f"{address}: {error}")
        else:
            return
    raise unavailable("; ".join(reasons))


def unavailable(reason: object) -> ServerUnavailable:
    """The error for a bus that does not do its part."""
    return ServerUnavailable("bus_unavailable", f"the bus does not answer ({reason}); it is asked again")


@contextmanager
def translated() -> Iterator[None]:
    """Raises ServerUnavailable for whatever the client or the socket raises."""
    try:
        yield
    except (KafkaError, OSError) as error:
        raise unavailable(repr(error)) from error


class AdminConnection:
    """An admin client that is kept for the next question, and built anew after an error. Belongs to one thread."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._client: Any = None

    def cluster_id(self) -> str:
        """The identity of the cluster. Raises ServerUnavailable."""
        try:
            with translated():
                # Also before a kept client is asked: it would go on trying for long.
                check_reachable(self._bootstrap)
                if self._client is None:
                    self._client = kafka.KafkaAdminClient(**connection_settings(self._bootstrap, self._client_id))
                return str(self._client.describe_cluster()["cluster_id"])
        except ServerUnavailable:
            self.close()
            raise

    def close(self) -> None:
        """Idempotent; the next question connects again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


class ClientThread:
    """The one thread in which a blocking client lives, so that the event loop never waits for it."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._stopped = False

    def start(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Run the call after those before it. Raises RuntimeError once stopped."""
        return asyncio.wrap_future(self._executor.submit(call))

    async def stop(self, last: Callable[[], None]) -> None:
        """Run the last call and end the thread. Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        try:
            await self.start(last)
        finally:
            self._executor.shutdown(wait=False)
