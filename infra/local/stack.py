"""A whole local stack as a value: its programs, addresses and checks, computed before anything starts."""

import json
import os
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.atomic_file import PRIVATE, write_atomically
from infra.local.bus_runtime import BUS, BusRuntime
from infra.local.credentials import ensure_credentials
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.ports import LOOPBACK, choose_ports, load_ports, save_ports
from infra.local.program import Program
from infra.local.ray_head import RayPlace, prepare_ray
from infra.local.readiness import Check
from infra.local.servers import USUAL_PORTS, WITH_GRPC, Servers
from infra.local.services import SERVICE_PORTS, ready_url, service_programs
from infra.local.supervisor_config import render

RAY_PORTS: Mapping[str, int] = {"ray": 6379, "ray_node": 6380}
GATEWAY_PORT_VARIABLE = "EASYLOOP_GATEWAY_PORT"
ALL_PORTS: Mapping[str, int] = {**USUAL_PORTS, **RAY_PORTS, **SERVICE_PORTS}
SERVER_NAMES = ("s3", "mongo", BUS)


@dataclass(frozen=True)
class Stack:
    """Everything that is decided before anything starts; building it starts nothing."""

    layout: Layout
    servers: Servers
    ray: RayPlace
    ports: Mapping[str, int]

    @property
    def gateway_url(self) -> str:
        """The address of the API and of the console."""
        return f"http://{LOOPBACK}:{self.ports['gateway']}"

    def write_settings(self, bus: BusRuntime) -> list[Program]:
        """Write the settings files of all programs and of supervisord, and return the programs."""
        programs = [
            *self.servers.prepare(bus),
            prepare_ray(self.ray),
            *service_programs(self.layout, self.servers, bus.kind, self.ray, self.ports),
        ]
        write_atomically(self.layout.bus_file, bus.kind)
        write_atomically(self.layout.supervisor_config, render(self.layout, programs), PRIVATE)
        return programs

    def checks(self) -> dict[str, Check]:
        """The readiness check of each program, by its name."""
        services = {name: _service_check(self.ports[name]) for name in SERVICE_PORTS}
        return {**self.servers.checks(), "ray": self._check_ray, **services}

    def write_addresses(self) -> None:
        """Tell the command line client where everything is. The secrets stay in their own file."""
        addresses = {
            "gateway_url": self.gateway_url,
            "secrets": str(self.layout.secrets_file),
            "admin_key_file": str(self.layout.secrets_file),
            "kafka": self.servers.kafka_address,
            "mongo": self.servers.documents.uri,
            "s3": self.servers.s3_address,
            "ray": self.ray.address,
            "health": {name: ready_url(self.ports[name]) for name in SERVICE_PORTS},
            "logs": str(self.layout.logs),
        }
        write_atomically(self.layout.stack_file, json.dumps(addresses, indent=2) + "\n")

    def _check_ray(self) -> None:
        for port in (self.ray.port, self.ray.node_port):
            socket.create_connection((LOOPBACK, port), timeout=1).close()


def plan_stack(layout: Layout, ports: Mapping[str, int]) -> Stack:
    """The stack of a data folder at given ports. Makes the folders, and the credentials the first time."""
    layout.make_folders()
    credentials = ensure_credentials(layout.secrets_file)
    ray = RayPlace(layout.short / "ray", ports["ray"], ports["ray_node"], credentials.ray_token)
    return Stack(layout, Servers.below(layout.root, ports, credentials), ray, ports)


def fresh_ports(layout: Layout) -> dict[str, int]:
    """Ports for a start: the remembered ones as far as they are free. They are remembered in turn.

    EASYLOOP_GATEWAY_PORT, when it is set, comes before what is remembered.
    """
    remembered, usual = load_ports(layout.ports_file), dict(ALL_PORTS)
    if wish := os.environ.get(GATEWAY_PORT_VARIABLE):
        usual["gateway"] = _port(wish)
        remembered.pop("gateway", None)
    ports = choose_ports(usual, remembered, WITH_GRPC)
    save_ports(layout.ports_file, ports)
    return ports


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise StackError(f"{GATEWAY_PORT_VARIABLE}={text}", "it is not a port", "give a number between 1 and 65535")
    return int(text)


def _service_check(port: int) -> Check:
    def check() -> None:
        try:
            with urllib.request.urlopen(ready_url(port), timeout=4) as answer:  # noqa: S310 - http on loopback
                answer.read()
        except urllib.error.HTTPError as error:
            # The body names the servers that the service waits for.
            raise ConnectionError(error.read(500).decode("utf-8", errors="replace")) from error

    return check
