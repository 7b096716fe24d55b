"""Starting a local stack: everything that can go side by side does."""

import asyncio
import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from chassis.blobs.s3 import S3BlobStore
from chassis.bus.admin import create_topics
from chassis.topics import load_topics
from infra.local.backbone import building_backbone
from infra.local.bus import choose_bus
from infra.local.bus_runtime import BUS, BusRuntime
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.log_tail import log_tail
from infra.local.ports import load_ports
from infra.local.readiness import NOT_YET, NotReadyError, wait_until_ready
from infra.local.services import BUCKET, SERVICE_PORTS
from infra.local.stack import ALL_PORTS, SERVER_NAMES, Stack, fresh_ports, plan_stack
from infra.local.stop import end_strays
from infra.local.supervisor_client import ALIVE_STATES, Supervisor

# Seconds on an idle machine; a busy one may need minutes, and a program that ends is noticed at once anyway.
READY_SECONDS = 240
# A program that ended more often than this while it started is not going to.
MOST_PROCESSES = 3

Report = Callable[[str], None]


def start_everything(layout: Layout, report: Report) -> Stack:
    """Bring up servers, backbone, Ray and services; what runs already is left alone.

    Raises StackError when something does not start. What did start goes on, so that one can look at it.
    """
    with _start_of(layout, report) as start:
        if start.answers((*SERVER_NAMES, "ray", *SERVICE_PORTS)):
            report("EasyLoop is up already")
            return start.stack
        started = time.monotonic()
        with building_backbone(layout.backbones, layout.log_of("backbone")) as backbone:
            start.servers()
            backbone.wait(report)
        start.services()
        start.finish(started)
    return start.stack


def start_servers(layout: Layout, report: Report) -> Stack:
    """Bring up bus, documents and objects alone, with topics and bucket. Raises StackError."""
    with _start_of(layout, report) as start:
        if start.answers(SERVER_NAMES):
            report("the servers are up already")
        else:
            started = time.monotonic()
            start.servers()
            start.finish(started)
    return start.stack


@dataclass(frozen=True)
class Start:
    """One start of one stack. `report` takes lines for the person who waits."""

    stack: Stack
    bus: Callable[[], BusRuntime]
    supervisor: Supervisor
    report: Report
    _abandoned: threading.Event = field(default_factory=threading.Event)

    def answers(self, names: tuple[str, ...]) -> bool:
        """Whether all of these run and pass their checks at once."""
        processes, checks = self.supervisor.processes(), self.stack.checks()
        try:
            for name in names:
                if name not in processes or not processes[name].running:
                    return False
                checks[name]()
        except NOT_YET:
            # Whatever it is that does not answer: the start that follows waits for it and reports it.
            return False
        return True

    def servers(self) -> None:
        """Start the three servers, wait until each works, and make the topics and the bucket."""
        with self._side_by_side() as follow:
            follow("s3", self._make_bucket)
            follow("mongo")
            self.stack.servers.format_bus(self.bus())
            follow(BUS, self._make_topics)

    def services(self) -> None:
        """Start Ray and the seven services and wait until each is ready."""
        with self._side_by_side() as follow:
            for name in ("ray", *SERVICE_PORTS):
                follow(name)

    def finish(self, started: float) -> None:
        """Write down where everything is, and say how long it took since `started` (a monotonic time)."""
        self.stack.write_addresses()
        self.report(f"everything is ready after {time.monotonic() - started:.1f} s")

    @contextmanager
    def _side_by_side(self) -> Iterator[Callable[..., None]]:
        """Gives a function that starts a program and follows it in a thread; leaving waits for all of them.

        The first failure, or an interrupt, ends the waiting for the others.
        """
        waits: list[Future[None]] = []

        with ThreadPoolExecutor(max_workers=16) as threads:

            def follow(name: str, then: Callable[[], None] | None = None) -> None:
                self.supervisor.start(name)
                waits.append(threads.submit(self._until_ready, name, then))

            try:
                yield follow
                done, _ = wait(waits, return_when=FIRST_EXCEPTION)
                for each in done:
                    each.result()
            except BaseException:
                self._abandoned.set()
                raise

    def _until_ready(self, name: str, then: Callable[[], None] | None) -> None:
        check = self.stack.checks()[name]
        pids: set[int] = set()
        try:
            seconds = wait_until_ready(check, lambda: self._starts(name, pids), READY_SECONDS)
        except NotReadyError as error:
            log = self.stack.layout.log_of(name)
            remedy = f"its log is {log}; `make down`, then `make up` starts afresh"
            raise StackError(name, str(error), remedy, log_tail(log)) from error
        if then is not None:
            then()
        self.report(f"  {name:<11} ready after {seconds:4.1f} s   port {self.stack.ports[name]}")

    def _starts(self, name: str, pids: set[int]) -> bool:
        """Whether it may still become ready; `pids` collects the process ids that it had in this start."""
        info = self.supervisor.processes()[name]
        if info.pid:
            pids.add(info.pid)
        return not self._abandoned.is_set() and info.state in ALIVE_STATES and len(pids) <= MOST_PROCESSES

    def _make_bucket(self) -> None:
        keys, address = self.stack.servers.credentials, self.stack.servers.s3_address
        S3BlobStore(address, keys.s3_access_key, keys.s3_secret_key, BUCKET, secure=False).ensure_bucket()

    def _make_topics(self) -> None:
        asyncio.run(create_topics(self.stack.servers.kafka_address, load_topics()))


@contextmanager
def _start_of(layout: Layout, report: Report) -> Iterator[Start]:
    """A start with supervisord running; the only one for this data folder at a time."""
    layout.make_folders()
    with _lock(layout):
        supervisor, bus = Supervisor(layout), cache(lambda: choose_bus(report))
        if supervisor.alive():
            stack = plan_stack(layout, {**ALL_PORTS, **load_ports(layout.ports_file)})
        else:
            end_strays(layout, report)
            stack = plan_stack(layout, fresh_ports(layout))
            stack.write_settings(bus())
            supervisor.launch()
        yield Start(stack, bus, supervisor, report)


@contextmanager
def _lock(layout: Layout) -> Iterator[None]:
    with (layout.run / "start.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            reason = "another start of the same data folder is under way"
            raise StackError(str(layout.root), reason, "wait for it") from error
        # Programs that are started inherit no lock: Python opens files close-on-exec.
        yield
