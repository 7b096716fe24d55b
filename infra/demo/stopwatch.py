"""Where the time of a run went, from the upload to the answer."""

import time
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise

from rich.console import Console
from rich.table import Table

from easyloop.answers import Run

STAGES: Mapping[str, str] = {
    "searching": "features and search",
    "training": "refit and export",
    "evaluating": "evaluation",
    "registering": "registration",
}


class Stopwatch:
    """Laps in seconds, in the order they happened."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._laps: list[tuple[str, float]] = []

    def lap(self, name: str) -> None:
        """The time since the last lap belongs to `name`."""
        now = time.monotonic()
        self._laps.append((name, now - self._last))
        self._last = now

    def stages(self, run: Run) -> None:
        """The time since the last lap was the run's: split it by the moments at which its stages began."""
        moments = sorted((datetime.fromisoformat(at), state) for state, at in run.stage_times.items())
        for (begun, state), (ended, _) in pairwise(moments):
            if state in STAGES:
                self._laps.append((STAGES[state], (ended - begun).total_seconds()))
        self._last = time.monotonic()

    def print(self, console: Console) -> None:
        """A table with the sum."""
        table = Table("stage", "seconds", box=None)
        table.columns[1].justify = "right"
        for name, seconds in self._laps:
            table.add_row(name, f"{seconds:.1f}")
        table.add_row("from upload to the end", f"{sum(seconds for _, seconds in self._laps):.1f}", style="bold")
        console.print()
        console.print(table)
