"""Which TCP ports of 127.0.0.1 the stack takes, and how it remembers them."""

import json
import random
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from infra.local.atomic_file import write_atomically
from infra.local.errors import StackError

LOOPBACK = "127.0.0.1"

# SeaweedFS opens a second port for gRPC at this distance from each port of its own.
GRPC_OFFSET = 10_000

# Below 22,768 a port and its gRPC twin both stay clear of the range from which Linux takes the ports of
# outgoing connections (32,768 and up), so nobody takes them by chance.
SEARCH_RANGE = range(11_000, 22_000)

PortTest = Callable[[int], bool]


def is_free(port: int) -> bool:
    """True when a server could listen on the port now; a port in TIME_WAIT counts as free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(
    usual: Mapping[str, int],
    remembered: Mapping[str, int],
    with_grpc: frozenset[str],
    free: PortTest = is_free,
    seed: int | None = None,
) -> dict[str, int]:
    """Give every name of `usual` a port: the remembered one, else the usual one, else any free one.

    A usual port of 0 stands for "any". Names in `with_grpc` get a port whose gRPC twin is free as well.
    No two names share a port or a twin. Raises StackError when the search range is used up.
    """
    taken: set[int] = set()
    chosen: dict[str, int] = {}
    for name, port in usual.items():
        first = [each for each in (remembered.get(name, 0), port) if each]
        offsets = (0, GRPC_OFFSET) if name in with_grpc else (0,)
        for candidate in _candidates(first, seed):
            wanted = {candidate + offset for offset in offsets}
            if not wanted & taken and all(free(each) for each in sorted(wanted)):
                chosen[name] = candidate
                taken |= wanted
                break
        else:
            raise StackError(
                f"port for {name}",
                f"none is free between {SEARCH_RANGE.start} and {SEARCH_RANGE.stop}",
                "stop programs that listen on this machine",
            )
    return chosen


def _candidates(first: list[int], seed: int | None) -> Iterator[int]:
    yield from first
    # A random order keeps two stacks that start at the same moment out of each other's way.
    yield from random.Random(seed).sample(SEARCH_RANGE, 2_000)  # noqa: S311 - ports are no secret


def load_ports(path: Path) -> dict[str, int]:
    """The ports of the last start; none when there was no start or the file is damaged."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        # A damaged file costs nothing but the memory of earlier ports.
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: port for name, port in stored.items() if isinstance(port, int) and 0 < port < 65_536}


def save_ports(path: Path, ports: Mapping[str, int]) -> None:
    """Remember the ports for the next start."""
    write_atomically(path, json.dumps(dict(ports), indent=2) + "\n")
