"""Real servers for contract and integration tests, started once a test session in a folder of their own.

A conftest makes the fixture known with `from tests.servers import local_servers`.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.local.bus import choose_bus
from infra.local.credentials import make_credentials
from infra.local.kafka import KafkaRuntime
from infra.local.log_tail import log_tail
from infra.local.ports import choose_ports
from infra.local.program import Program
from infra.local.readiness import Check, NotReadyError, wait_until_ready
from infra.local.servers import USUAL_PORTS, WITH_GRPC, Servers

READY_SECONDS = 60


@dataclass(frozen=True)
class LocalServers:
    """Addresses of running servers. `kafka` and `s3_endpoint` are host:port; S3 speaks plain HTTP.

    They are shared by a whole session: a test makes topics, databases and buckets with names of its own.
    """

    kafka: str
    mongo_uri: str
    s3_endpoint: str
    s3_access_key: str
    s3_secret_key: str


@pytest.fixture(scope="session")
def local_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServers]:
    """Running Kafka, MongoDB protocol server and S3 server on free ports; stopped at the end of the session."""
    with run_servers(tmp_path_factory.mktemp("servers"), choose_bus()) as servers:
        yield servers


@contextmanager
def run_servers(folder: Path, bus: KafkaRuntime) -> Iterator[LocalServers]:
    """Start the three servers side by side in `folder`, wait until each works, stop them at the end."""
    ports = choose_ports(dict.fromkeys(USUAL_PORTS, 0), {}, WITH_GRPC)
    servers = Servers.below(folder, ports, make_credentials())
    checks = servers.checks()
    with ExitStack() as running:
        threads = running.enter_context(ThreadPoolExecutor())
        waits = []
        for program in servers.prepare(bus):
            if program.name == "kafka":
                servers.format_bus(bus)
            process = running.enter_context(run_program(program))
            waits.append(threads.submit(_wait, program, process, checks[program.name]))
        for wait in waits:
            wait.result()
        yield LocalServers(
            kafka=servers.kafka_address,
            mongo_uri=servers.documents.uri,
            s3_endpoint=servers.s3_address,
            s3_access_key=servers.credentials.s3_access_key,
            s3_secret_key=servers.credentials.s3_secret_key,
        )


@contextmanager
def run_program(program: Program) -> Iterator[subprocess.Popen[bytes]]:
    """Run it in a process group of its own, its output in `<directory>/<name>.log`.

    At the end the whole group is killed: its data goes with the folder, so nothing needs an orderly stop.
    """
    with log_of(program).open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the command comes from infra.local, not from input
            program.command,
            cwd=program.directory,
            env={**os.environ, **program.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def log_of(program: Program) -> Path:
    """Where `run_program` puts what the program prints."""
    return program.directory / f"{program.name}.log"


def _wait(program: Program, process: subprocess.Popen[bytes], check: Check) -> None:
    try:
        wait_until_ready(check, lambda: process.poll() is None, READY_SECONDS)
    except NotReadyError as error:
        pytest.fail(f"{program.name}: {error}\n{log_tail(log_of(program))}")
