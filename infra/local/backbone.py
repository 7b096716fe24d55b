"""Building the image backbone beside the start of the servers; done once by a user, then copied."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from infra.local.errors import StackError
from infra.local.layout import REPOSITORY
from infra.local.log_tail import log_tail
from learning.backbones.description import DEFAULT_BACKBONE, DESCRIPTION_FILE

BUILD_SECONDS = 300
SOURCES = REPOSITORY / "learning" / "backbones"


@dataclass(frozen=True)
class BackboneBuild:
    """A build under way; `process` is None when the folder was there. `started` is a monotonic time."""

    process: subprocess.Popen[bytes] | None
    folder: Path
    log: Path
    started: float

    def wait(self, report: Callable[[str], None]) -> None:
        """Return once the backbone is there. Raises StackError when it could not be built."""
        if self.process is None:
            return
        try:
            status = self.process.wait(BUILD_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self._failure(f"it was not built within {BUILD_SECONDS} s") from error
        if status:
            raise self._failure("it could not be built")
        copy_whole(self.folder, kept_backbone())
        report(f"  {'backbone':<11} built after {time.monotonic() - self.started:4.1f} s   (once)")

    def _failure(self, reason: str) -> StackError:
        return StackError("image backbone", reason, f"its log is {self.log}", log_tail(self.log))


@contextmanager
def building_backbone(root: Path, log: Path) -> Iterator[BackboneBuild]:
    """Build the default backbone in a process of its own unless it is there or kept; leaving early ends the build.

    The others are built by the first training that wants them.
    """
    folder, kept = root / DEFAULT_BACKBONE, kept_backbone()
    if not (folder / DESCRIPTION_FILE).exists() and kept.is_dir():
        copy_whole(kept, folder)
    if (folder / DESCRIPTION_FILE).exists():
        yield BackboneBuild(None, folder, log, time.monotonic())
        return
    process = _launch(root, log)
    try:
        yield BackboneBuild(process, folder, log, time.monotonic())
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _launch(root: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "learning.backbones", str(root)],
            cwd=REPOSITORY,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def kept_backbone(sources: Path = SOURCES) -> Path:
    """Where the user's backbone is kept for other data folders; other code that builds it is another place."""
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.read_bytes())
    return Path(platformdirs.user_cache_dir("easyloop")) / f"backbones-{digest.hexdigest()[:12]}"


def copy_whole(source: Path, target: Path) -> None:
    """Copy a folder so that the target is never there in part; a target that is there stays as it is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".copy-") as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(source, copy)
        try:
            copy.rename(target)
        except OSError:
            # Somebody else was faster; their copy is as good.
            if not target.is_dir():
                raise
