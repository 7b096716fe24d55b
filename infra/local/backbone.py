"""Building the image backbone, once for a data folder, beside the start of the servers."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError
from infra.local.layout import REPOSITORY
from infra.local.log_tail import log_tail

BUILD_SECONDS = 300


@dataclass(frozen=True)
class BackboneBuild:
    """A build under way, or none when the folder was there (`process` is None)."""

    process: subprocess.Popen[bytes] | None
    log: Path
    started: float

    def wait(self, report: Callable[[str], None]) -> None:
        """Return once the backbone is there. Raises StackError when it could not be built."""
        if self.process is None:
            return
        try:
            status = self.process.wait(BUILD_SECONDS)
        except subprocess.TimeoutExpired as error:
            reason = f"it was not built within {BUILD_SECONDS} s"
            raise StackError("image backbone", reason, f"its log is {self.log}", log_tail(self.log)) from error
        if status:
            raise StackError("image backbone", "it could not be built", f"its log is {self.log}", log_tail(self.log))
        self.log.unlink()
        self.report_seconds(report)

    def report_seconds(self, report: Callable[[str], None]) -> None:
        """One line like those of the servers."""
        report(f"  {'backbone':<11} built after {time.monotonic() - self.started:4.1f} s   (once)")


@contextmanager
def building_backbone(folder: Path, log: Path) -> Iterator[BackboneBuild]:
    """Start `python -m learning.backbones` unless the folder is there; leaving early ends the build."""
    if (folder / "backbone.json").exists():
        yield BackboneBuild(None, log, time.monotonic())
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "learning.backbones", str(folder)],
            cwd=REPOSITORY,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "MKL_DEBUG_CPU_TYPE": "5", "OMP_NUM_THREADS": str(os.cpu_count() or 1)},
        )
    try:
        yield BackboneBuild(process, log, time.monotonic())
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
