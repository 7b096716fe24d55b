"""What runs, as a table."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from infra.local.bus_runtime import IN_WORDS
from infra.local.layout import Layout
from infra.local.ports import load_ports
from infra.local.process_tree import memory_megabytes, running_processes
from infra.local.readiness import NOT_YET, Check
from infra.local.stack import ALL_PORTS, plan_stack
from infra.local.supervisor_client import ProcessInfo, Supervisor

COLUMNS = ("name", "state", "pid", "port", "MB", "uptime", "ready")


@dataclass(frozen=True)
class Row:
    """One program. `memory_megabytes` is resident memory of the program and all its children."""

    name: str
    info: ProcessInfo
    port: int
    memory_megabytes: int
    ready: bool

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of COLUMNS."""
        uptime = duration(self.info.uptime_seconds)
        number = (
            (str(self.info.pid), str(self.port), str(self.memory_megabytes), uptime) if self.info.pid else ("-",) * 4
        )
        return (self.name, self.info.state.lower(), *number, "yes" if self.ready else "no")


def read_status(layout: Layout) -> list[Row]:
    """A row for each program of the running stack; none when no stack runs. Checks all programs side by side."""
    supervisor = Supervisor(layout)
    if not supervisor.alive():
        return []
    ports = {**ALL_PORTS, **load_ports(layout.ports_file)}
    checks = plan_stack(layout, ports).checks()
    processes = running_processes()
    infos = supervisor.processes()
    with ThreadPoolExecutor(max_workers=16) as threads:
        ready = dict(zip(infos, threads.map(lambda info: _passes(info, checks), infos.values()), strict=True))
    return [
        Row(name, info, ports[name], memory_megabytes(info.pid, processes) if info.pid else 0, ready[name])
        for name, info in infos.items()
    ]


def bus_in_words(layout: Layout) -> str:
    """Which bus the stack was started with; empty for a stack of a version that had no choice."""
    try:
        kind = layout.bus_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return f"the bus is {IN_WORDS[kind]}"


def _passes(info: ProcessInfo, checks: Mapping[str, Check]) -> bool:
    if not info.running:
        return False
    try:
        checks[info.name]()
    except NOT_YET:
        return False
    return True


def table(rows: list[Row]) -> str:
    """Columns as wide as their widest cell, numbers to the right, and the memory of all in the last line."""
    cells = [COLUMNS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    lines = ["  ".join(_aligned(text, index, widths[index]) for index, text in enumerate(line)) for line in cells]
    total = sum(row.memory_megabytes for row in rows)
    return "\n".join([*(line.rstrip() for line in lines), f"{total} MB in all"])


def _aligned(text: str, column: int, width: int) -> str:
    return text.rjust(width) if COLUMNS[column] in ("pid", "port", "MB", "uptime") else text.ljust(width)


def duration(seconds: int) -> str:
    """`42s`, `3m05s`, `2h07m`, `4d03h`."""
    for size, unit, below, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // below:02d}{small}"
    return f"{seconds}s"
