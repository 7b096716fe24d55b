"""Whether a server really works: each check does what a client will do, and raises when it cannot."""

import io
import socket
import time
import uuid
from collections.abc import Callable

import urllib3
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError
from minio import Minio
from minio.error import MinioException
from pymongo import MongoClient
from pymongo.errors import PyMongoError

CANARY_TOPIC = "easyloop.canary"
PROBE_BUCKET = "easyloop-probe"
PROBE_SECONDS = 10

Check = Callable[[], None]

# What a server that is still starting makes its client raise.
NOT_YET = (KafkaError, MinioException, PyMongoError, urllib3.exceptions.HTTPError, OSError, ValueError)


class NotReadyError(Exception):
    """The server did not work in time, or its process ended."""


def wait_until_ready(
    check: Check,
    alive: Callable[[], bool],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> float:
    """Repeat the check until it passes and return the seconds that took.

    Raises NotReadyError, with the last refusal as its cause, once the time is over or the process ended.
    """
    started = clock()
    while True:
        try:
            check()
            return clock() - started
        except NOT_YET as error:
            waited = clock() - started
            if not alive():
                raise NotReadyError(f"its process ended after {waited:.0f} s") from error
            if waited > timeout_seconds:
                raise NotReadyError(f"it did not answer within {timeout_seconds:.0f} s ({error})") from error
            pause(0.1)


def check_object_store(endpoint: str, access_key: str, secret_key: str) -> None:
    """Write, read and delete one object; the port alone opens seconds before writing works."""
    http = urllib3.PoolManager(timeout=urllib3.Timeout(connect=1, read=5), retries=False)
    client = Minio(
        endpoint, access_key=access_key, secret_key=secret_key, secure=False, http_client=http, region="us-east-1"
    )
    if not client.bucket_exists(PROBE_BUCKET):
        client.make_bucket(PROBE_BUCKET)
    name, content = f"probe-{uuid.uuid4().hex}", b"probe"
    client.put_object(PROBE_BUCKET, name, io.BytesIO(content), len(content))
    answer = client.get_object(PROBE_BUCKET, name)
    try:
        if answer.read() != content:
            raise ValueError(f"object {name}: what was read is not what was written")
    finally:
        answer.close()
        answer.release_conn()
    client.remove_object(PROBE_BUCKET, name)


def check_document_store(uri: str) -> None:
    """Ping the server."""
    with MongoClient[dict[str, object]](uri, serverSelectionTimeoutMS=500, connectTimeoutMS=500) as client:
        client.admin.command("ping")


def check_kafka(bootstrap_servers: str) -> None:
    """Produce one record and consume it again."""
    host, port = bootstrap_servers.rsplit(":", 1)
    _check_port(host, int(port))
    _ensure_canary_topic(bootstrap_servers)
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all", max_block_ms=PROBE_SECONDS * 1000)
    try:
        written = producer.send(CANARY_TOPIC, b"canary", partition=0).get(timeout=PROBE_SECONDS)
    finally:
        producer.close(timeout=PROBE_SECONDS)
    partition = TopicPartition(CANARY_TOPIC, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers, consumer_timeout_ms=PROBE_SECONDS * 1000)
    try:
        consumer.assign([partition])
        consumer.seek(partition, written.offset)
        if next(iter(consumer), None) is None:
            raise ValueError("the canary record was written but not read back")
    finally:
        consumer.close()


def _check_port(host: str, port: int) -> None:
    # The client library waits half a minute for a broker that is not there; a closed port is known at once.
    socket.create_connection((host, port), timeout=1).close()


def _ensure_canary_topic(bootstrap_servers: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers, request_timeout_ms=PROBE_SECONDS * 1000)
    try:
        if CANARY_TOPIC not in admin.list_topics():
            topic = NewTopic(CANARY_TOPIC, num_partitions=1, replication_factor=1,
                             topic_configs={"retention.ms": "3600000"})  # fmt: skip
            admin.create_topics([topic])
    except TopicAlreadyExistsError:
        # Another check made it in the meantime.
        return
    finally:
        admin.close()
