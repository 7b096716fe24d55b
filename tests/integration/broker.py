"""A broker that may be killed and started again; its data outlive its process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.bus import choose_bus
from infra.local.kafka import KafkaPlace, KafkaRuntime, format_kafka, prepare_kafka
from infra.local.ports import LOOPBACK, choose_ports
from infra.local.readiness import check_kafka, wait_until_ready
from tests.servers import run_program

READY_S = 60


@dataclass(frozen=True)
class Broker:
    """Formatted; runs inside `running`."""

    place: KafkaPlace
    runtime: KafkaRuntime

    @classmethod
    def made(cls, folder: Path) -> "Broker":
        """A new one on free ports."""
        ports = choose_ports({"kafka": 0, "controller": 0}, {}, frozenset())
        broker = cls(KafkaPlace(folder, ports["kafka"], ports["controller"]), choose_bus())
        prepare_kafka(broker.place, broker.runtime)
        format_kafka(broker.place, broker.runtime)
        return broker

    @property
    def address(self) -> str:
        """host:port."""
        return f"{LOOPBACK}:{self.place.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ready inside; killed with SIGKILL at the end."""
        with run_program(prepare_kafka(self.place, self.runtime)) as process:
            wait_until_ready(lambda: check_kafka(self.address), lambda: process.poll() is None, READY_S)
            yield
