"""Named places where a test may kill the process: `EASYLOOP_FAILPOINTS=trainer.after_checkpoint=kill_once`.

`kill_once` kills the whole process group (a service and its job process) with SIGKILL the first time the place is
reached; a marker file in the data folder remembers it across restarts.
"""

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Failpoints:
    """The armed places. Empty in production, where reaching one costs a dictionary look-up."""

    armed: dict[str, str]
    markers: Path

    @classmethod
    def parse(cls, text: str, data_dir: Path) -> "Failpoints":
        """`name=kill_once[,name=kill_once]`. Raises ValueError for an action that does not exist."""
        armed = dict(part.strip().split("=", 1) for part in text.split(",") if part.strip())
        for name, action in armed.items():
            if action != "kill_once":
                raise ValueError(f"failpoint {name}: the action '{action}' does not exist; use kill_once")
        return cls(armed, data_dir / "failpoints")

    def reach(self, name: str) -> None:
        """Does not return where the place is armed and was not reached before."""
        if name not in self.armed:
            return
        self.markers.mkdir(parents=True, exist_ok=True)
        try:
            (self.markers / name).touch(exist_ok=False)
        except FileExistsError:
            return
        os.killpg(os.getpgrp(), signal.SIGKILL)
