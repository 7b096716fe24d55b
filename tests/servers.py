"""Real servers for contract and integration tests, started once a test session in a folder of their own.

A conftest makes the fixture known with `from tests.servers import local_servers`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from infra.local.bus import find_kafka
from infra.local.bus_runtime import BUS, BusPlace, BusRuntime
from infra.local.credentials import make_credentials
from infra.local.kafka import log_folder
from infra.local.layout import REPOSITORY, Layout
from infra.local.log_tail import log_tail
from infra.local.ports import choose_ports, load_ports, save_ports
from infra.local.process_tree import descendants, running_processes
from infra.local.program import Program
from infra.local.readiness import Check, NotReadyError, wait_until_ready
from infra.local.servers import USUAL_PORTS, WITH_GRPC, Servers
from infra.local.stack import ALL_PORTS
from infra.local.supervisor_client import STOP_SECONDS, Supervisor

READY_SECONDS = 180
COMMAND_SECONDS = 600


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
    with run_servers(tmp_path_factory.mktemp("servers"), find_kafka()) as servers:
        yield servers


@contextmanager
def run_servers(folder: Path, bus: BusRuntime) -> Iterator[LocalServers]:
    """Start the three servers side by side in `folder`, wait until each works, stop them at the end."""
    ports = choose_ports(dict.fromkeys(USUAL_PORTS, 0), {}, WITH_GRPC)
    servers = Servers.below(folder, ports, make_credentials())
    checks = servers.checks()
    with ExitStack() as running:
        threads = running.enter_context(ThreadPoolExecutor())
        waits = []
        for program in servers.prepare(bus):
            if program.name == BUS:
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
        process = subprocess.Popen(
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


@dataclass(frozen=True)
class LocalStack:
    """The whole platform, started by `python -m infra.local` in a data folder and on ports of its own.

    `settings` are environment variables of the start, which the services inherit.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(self.folder.resolve())

    @property
    def env(self) -> dict[str, str]:
        """The environment of commands that work on this stack."""
        return {**os.environ, **self.settings, "EASYLOOP_DATA_DIR": str(self.folder)}

    @property
    def addresses(self) -> Mapping[str, Any]:
        """What the running stack says of itself (see infra.local.stack)."""
        return cast(Mapping[str, Any], json.loads(self.layout.stack_file.read_text(encoding="utf-8")))

    @property
    def gateway_url(self) -> str:
        """The address of the API."""
        return str(self.addresses["gateway_url"])

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials, by name (see infra.local.credentials)."""
        return cast(Mapping[str, str], json.loads(self.layout.secrets_file.read_text(encoding="utf-8")))

    @property
    def admin_key(self) -> str:
        """The key that may do everything."""
        return self.secrets["admin_key"]

    @property
    def supervisor(self) -> Supervisor:
        """For questions about single programs."""
        return Supervisor(self.layout)

    def up(self, *options: str) -> str:
        """Start it and return what the command said; what does not start fails the test with the command's words."""
        if not self.layout.ports_file.exists():
            # Ports of its own from the start: stacks of two sessions would both see the usual ones free.
            save_ports(self.layout.ports_file, choose_ports(dict.fromkeys(ALL_PORTS, 0), {}, WITH_GRPC))
        return self._command("up", *options)

    def down(self) -> str:
        """Stop it in order; the data stays."""
        return self._command("down")

    def kill(self, program: str) -> int:
        """Send SIGKILL to the program's process, which supervisord then starts again; returns the process id."""
        pid = self.supervisor.processes()[program].pid
        assert pid, f"{program} does not run"
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_supervisor(self, number: signal.Signals) -> None:
        """Send a signal to supervisord itself, and wait until it has ended."""
        pid = self.supervisor.pid()
        os.kill(pid, number)
        deadline = time.monotonic() + COMMAND_SECONDS
        while pid in running_processes() and time.monotonic() < deadline:
            time.sleep(0.05)

    def empty_kafka(self) -> None:
        """Stop Kafka, throw away everything it holds, and start it as a new cluster."""
        self.supervisor.stop(BUS)
        self.supervisor.wait_ended(frozenset({BUS}), STOP_SECONDS)
        ports = load_ports(self.layout.ports_file)
        place = BusPlace(self.layout.root / "kafka", ports[BUS], ports["bus_controller"])
        shutil.rmtree(log_folder(place))
        find_kafka().format(place)
        self.supervisor.start(BUS)

    def restart(self, program: str) -> None:
        """Stop and start one program in order."""
        self._command("restart", program)

    def destroy(self) -> None:
        """Kill all of it, at once and for good."""
        if self.supervisor.alive():
            tree = descendants(self.supervisor.pid(), running_processes())
            for process in tree:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        # Ends what a program started in the last moment, and removes the sockets.
        self.down()

    def _command(self, *arguments: str) -> str:
        answer = subprocess.run(
            [sys.executable, "-m", "infra.local", *arguments],
            cwd=REPOSITORY,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if answer.returncode:
            pytest.fail(f"infra.local {' '.join(arguments)}: {answer.stderr}\n{answer.stdout}")
        return answer.stdout


@contextmanager
def stack_in(folder: Path, **settings: str) -> Iterator[LocalStack]:
    """A stack that is not started yet, and is destroyed at the end whatever happened."""
    stack = LocalStack(folder, settings)
    try:
        yield stack
    finally:
        stack.destroy()
