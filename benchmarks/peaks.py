"""How much memory services and the processes they start need at most while something is going on (Linux)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAMPLE_S = 0.1


class Peaks:
    """The most memory each process of a service had while it was watched, in kB; its jobs are all that it started."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.found: dict[str, int] = {}

    def look(self) -> None:
        """Once."""
        for service, pid in self.pids.items():
            self._note(service, pid)
            for descendant in _descendants(pid):
                self._note(f"{service}_job", descendant)

    def _note(self, name: str, pid: int) -> None:
        self.found[name] = max(self.found.get(name, 0), _peak_kilobytes(pid))

    @property
    def megabytes(self) -> dict[str, float]:
        """By process."""
        return {name: round(kilobytes / 1000, 1) for name, kilobytes in sorted(self.found.items())}


def _peak_kilobytes(pid: int) -> int:
    """0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _descendants(pid: int) -> list[int]:
    children = _children(pid)
    return children + [each for child in children for each in _descendants(child)]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for threads in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in threads.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):  # the thread ended
            continue
    return found


@contextmanager
def watched(pids: dict[str, int]) -> Iterator[Peaks]:
    """The peaks while the block runs; earlier peaks of the services do not count."""
    for pid in pids.values():
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    peaks, over = Peaks(pids), threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_S):
            peaks.look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()
        peaks.look()
