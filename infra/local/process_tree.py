"""Processes of this machine: descendants, memory, and whether a process is still the same one."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """`started` tells apart two processes that had the same id one after the other."""

    pid: int
    parent: int
    rss_kilobytes: int
    started: str


def running_processes() -> dict[int, Process]:
    """Every process by its id, as `ps` lists it (Linux and macOS)."""
    command = ["ps", "-axo", "pid=,ppid=,rss=,stat=,lstart="]
    listing = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, env={"LC_ALL": "C"})
    found = {}
    for line in listing.stdout.splitlines():
        pid, parent, rss, state, started = line.split(None, 4)
        # A zombie has ended and only waits for its parent to notice.
        if not state.startswith("Z"):
            found[int(pid)] = Process(int(pid), int(parent), int(rss), started)
    return found


def descendants(root: int, processes: Mapping[int, Process]) -> list[Process]:
    """The process `root`, when it runs, and all below it, parents before children."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    found = [processes[root]] if root in processes else []
    for process in found:
        found.extend(children.get(process.pid, ()))
    return found


def memory_megabytes(root: int, processes: Mapping[int, Process]) -> int:
    """The resident memory of a process and all below it; pages that they share are counted for each."""
    return sum(process.rss_kilobytes for process in descendants(root, processes)) // 1024


def still_running(earlier: Iterable[Process], now: Mapping[int, Process]) -> list[Process]:
    """Those of the earlier processes that run now, by id and time of start."""
    return [each for each in earlier if (same := now.get(each.pid)) is not None and same.started == each.started]


def processes_with(variable: str, value: str, proc: Path = Path("/proc")) -> list[Process]:
    """The user's processes that were started with this variable in their environment.

    Found on Linux only: elsewhere the environment of a process is not readable, and the answer is empty.
    """
    wanted = f"{variable}={value}".encode()
    found = []
    for pid, process in running_processes().items():
        try:
            environment = (proc / str(pid) / "environ").read_bytes()
        except OSError:
            # It ended in the meantime, or belongs to somebody else.
            continue
        if wanted in environment.split(b"\0"):
            found.append(process)
    return found
