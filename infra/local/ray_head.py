"""The Ray head: the processes in which the searches of `hpo` run."""

import os
from dataclasses import dataclass
from pathlib import Path

from infra.local.object_store import installed_command
from infra.local.ports import LOOPBACK
from infra.local.program import Program

OBJECT_STORE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class RayPlace:
    """`folder` must have a short path (at most 40 bytes): Ray puts sockets some 60 bytes deeper."""

    folder: Path
    port: int
    node_port: int
    token: str

    @property
    def address(self) -> str:
        """What drivers connect to."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the head and of every program that connects to it."""
        return {
            # On Linux Ray replaces 127.0.0.1 by the machine's address and listens on every interface, unless
            # clusters are switched off; the variable says Windows or macOS and is read everywhere.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            # Ray runs whatever code a connection brings.
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
        }


def prepare_ray(place: RayPlace) -> Program:
    """Describe the process."""
    command = (
        str(installed_command("ray", "ray[tune]")),
        "start", "--head", "--block",
        f"--node-ip-address={LOOPBACK}",
        f"--port={place.port}",
        f"--node-manager-port={place.node_port}",
        # The default claims 10,002 to 19,999 and refuses to start when the port above is among them.
        "--min-worker-port=0", "--max-worker-port=0",
        f"--num-cpus={os.cpu_count() or 1}",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        f"--temp-dir={place.folder}",
        "--include-dashboard=false", "--include-log-monitor=false", "--no-monitor", "--disable-usage-stats",
    )  # fmt: skip
    return Program(
        name="ray", command=command, directory=place.folder.parent, port=place.port, environment=place.environment
    )
