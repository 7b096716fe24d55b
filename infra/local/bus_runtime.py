"""What every kind of broker has in common: a place, and how its process is described."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from chassis.bus.ports import BusKind
from infra.local.program import Program

BUS = "bus"

IN_WORDS: Mapping[str, str] = {
    "kafka": "Apache Kafka",
    "tansu": "Tansu, which forgets its messages when it stops; the services then send them again",
}


@dataclass(frozen=True)
class BusPlace:
    """Where a broker keeps its files and which ports it takes."""

    folder: Path
    port: int
    controller_port: int


class BusRuntime(Protocol):
    """What runs a broker on this machine."""

    kind: ClassVar[BusKind]

    def prepare(self, place: BusPlace) -> Program:
        """Write the settings and describe the process, which needs `format` before it starts."""

    def format(self, place: BusPlace) -> None:
        """Make the place ready when it is new; data that is there is never touched. Raises StackError."""
