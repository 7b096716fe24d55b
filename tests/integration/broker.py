"""A broker that may be killed and started again; Kafka's data outlive its process, Tansu's do not."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chassis.bus.clients import BusClients
from chassis.topics import TopicCatalog
from infra.local.bus_runtime import BusPlace, BusRuntime
from infra.local.ports import LOOPBACK, choose_ports
from infra.local.readiness import check_kafka, wait_until_ready
from tests.servers import run_program

READY_S = 60


@dataclass(frozen=True)
class Broker:
    """Formatted; runs inside `running`."""

    place: BusPlace
    runtime: BusRuntime

    @classmethod
    def made(cls, folder: Path, runtime: BusRuntime) -> "Broker":
        """A new one on free ports."""
        ports = choose_ports({"bus": 0, "controller": 0}, {}, frozenset())
        broker = cls(BusPlace(folder, ports["bus"], ports["controller"]), runtime)
        broker.format()
        return broker

    def format(self) -> None:
        """Make its folder ready, as a new cluster when it is empty."""
        self.runtime.prepare(self.place)
        self.runtime.format(self.place)

    def lose_everything(self) -> None:
        """While it does not run: the next start is that of a new cluster."""
        shutil.rmtree(self.place.folder)
        self.format()

    def clients(self, topics: TopicCatalog) -> BusClients:
        """Of this broker, with the settings of its kind."""
        return BusClients(self.address, self.runtime.kind, topics)

    @property
    def address(self) -> str:
        """host:port."""
        return f"{LOOPBACK}:{self.place.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ready inside; killed with SIGKILL at the end."""
        with run_program(self.runtime.prepare(self.place)) as process:
            wait_until_ready(lambda: check_kafka(self.address), lambda: process.poll() is None, READY_S)
            yield
