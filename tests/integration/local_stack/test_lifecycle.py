"""The servers of a local stack: started, stopped, killed and started again, by the command that users run."""

import io
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from minio import Minio
from pymongo import MongoClient

from infra.local.ports import is_free, load_ports
from infra.local.process_tree import processes_with, running_processes
from infra.local.readiness import check_kafka, wait_until_ready
from infra.local.servers import USUAL_PORTS
from infra.local.services import BUCKET
from tests.servers import LocalStack, stack_in

TOPIC = "registry.events"
SERVERS = ("bus", "mongo", "s3")


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[LocalStack]:
    with stack_in(tmp_path / "data") as stack:
        yield stack


def write_everywhere(stack: LocalStack) -> None:
    """One record, one document, one object, each acknowledged."""
    producer = KafkaProducer(bootstrap_servers=stack.addresses["kafka"], acks="all")
    producer.send(TOPIC, b"kept", partition=0).get(timeout=10)
    producer.close()
    with MongoClient[dict[str, object]](stack.addresses["mongo"]) as client:
        client["probe"]["kept"].insert_one({"_id": "kept"})
    objects(stack).put_object(BUCKET, "kept", io.BytesIO(b"kept"), 4)


def read_everywhere(stack: LocalStack) -> list[object]:
    """What `write_everywhere` wrote, as far as it is there."""
    consumer = KafkaConsumer(bootstrap_servers=stack.addresses["kafka"], consumer_timeout_ms=10_000)
    partition = TopicPartition(TOPIC, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    record = next(iter(consumer), None)
    consumer.close()
    with MongoClient[dict[str, object]](stack.addresses["mongo"]) as client:
        document = client["probe"]["kept"].find_one({"_id": "kept"})
    answer = objects(stack).get_object(BUCKET, "kept")
    content = answer.read()
    answer.close()
    return [record and record.value, document and document["_id"], content]


def objects(stack: LocalStack) -> Minio:
    keys = stack.secrets
    return Minio(
        stack.addresses["s3"],
        access_key=keys["s3_access_key"],
        secret_key=keys["s3_secret_key"],
        secure=False,
        region="us-east-1",
    )


def processes_of(stack: LocalStack) -> list[int]:
    """Everything that the stack's supervisord started and that still runs."""
    found = processes_with("SUPERVISOR_SERVER_URL", f"unix://{stack.layout.supervisor_socket}")
    return [process.pid for process in found]


def test_data_survives_a_stop_and_nothing_goes_on_after_it(stack: LocalStack) -> None:
    stack.up("--servers-only")
    ports = load_ports(stack.layout.ports_file)
    write_everywhere(stack)
    supervisor = stack.supervisor.pid()
    stack.down()

    assert processes_of(stack) == []
    assert supervisor not in running_processes()
    assert not stack.layout.stack_file.exists()
    assert all(is_free(ports[name]) for name in USUAL_PORTS)

    stack.up("--servers-only")
    assert load_ports(stack.layout.ports_file) == ports
    assert read_everywhere(stack) == [b"kept", "kept", b"kept"]


@pytest.mark.slow
def test_a_port_that_a_stranger_took_meanwhile_is_replaced(stack: LocalStack) -> None:
    stack.up("--servers-only")
    write_everywhere(stack)
    before = load_ports(stack.layout.ports_file)
    stack.destroy()
    taken = ("bus", "bus_controller", "mongo", "s3", "s3_master", "s3_volume", "s3_filer")
    strangers = [socket.create_server(("127.0.0.1", before[name])) for name in taken]
    try:
        stack.up("--servers-only")
    finally:
        for stranger in strangers:
            stranger.close()
    after = load_ports(stack.layout.ports_file)
    assert not [name for name in taken if after[name] == before[name]]
    assert read_everywhere(stack) == [b"kept", "kept", b"kept"]


def test_starting_twice_changes_nothing_and_a_killed_server_comes_back_with_its_data(stack: LocalStack) -> None:
    stack.up("--servers-only")
    write_everywhere(stack)
    before = {name: stack.supervisor.processes()[name].pid for name in SERVERS}
    assert "up already" in stack.up("--servers-only")
    assert {name: stack.supervisor.processes()[name].pid for name in SERVERS} == before

    killed = {name: stack.kill(name) for name in SERVERS}
    stack.up("--servers-only")
    assert not [name for name in SERVERS if stack.supervisor.processes()[name].pid == killed[name]]
    wait_until_ready(lambda: check_kafka(stack.addresses["kafka"]), lambda: True, 30)
    assert read_everywhere(stack) == [b"kept", "kept", b"kept"]


@pytest.mark.slow
def test_what_a_killed_supervisor_left_behind_is_ended_by_the_next_start(stack: LocalStack) -> None:
    stack.up("--servers-only")
    write_everywhere(stack)
    left = processes_of(stack)
    stack.kill_supervisor(signal.SIGKILL)
    assert processes_of(stack) == left

    said = stack.up("--servers-only")
    assert f"ending {len(left)} processes" in said
    assert not set(left) & set(running_processes())
    assert read_everywhere(stack) == [b"kept", "kept", b"kept"]
