"""Where everything of a local stack lies."""

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError

DATA_DIR_VARIABLE = "EASYLOOP_DATA_DIR"
REPOSITORY = Path(__file__).parent.parent.parent

# Unix socket paths end at 107 bytes on Linux and 103 on macOS. A program's path may be longer than the one we
# choose: supervisor binds a temporary neighbour with the process id added.
SOCKET_PATH_BYTES = 90


@dataclass(frozen=True)
class Layout:
    """The files below one data folder, `root`, which is absolute."""

    root: Path

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> "Layout":
        """The data folder that EASYLOOP_DATA_DIR names, `.easyloop` of the current folder otherwise."""
        return cls(Path(environment.get(DATA_DIR_VARIABLE) or ".easyloop").expanduser().resolve())

    @property
    def run(self) -> Path:
        """What belongs to the running stack: settings files, ports, addresses."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """One log for each program."""
        return self.root / "logs"

    @property
    def secrets_file(self) -> Path:
        """The credentials, mode 0600."""
        return self.root / "secrets.json"

    @property
    def ports_file(self) -> Path:
        """The ports of the last start."""
        return self.run / "ports.json"

    @property
    def stack_file(self) -> Path:
        """The addresses of the running stack, for the command line client; there while the stack is up."""
        return self.run / "stack.json"

    @property
    def bus_file(self) -> Path:
        """The kind of bus that the last start chose."""
        return self.run / "bus"

    @property
    def supervisor_config(self) -> Path:
        """Mode 0600: it holds the programs' environment."""
        return self.run / "supervisord.conf"

    @property
    def backbones(self) -> Path:
        """The image backbones, built once."""
        return self.root / "backbones"

    @property
    def short(self) -> Path:
        """A folder with a short path, for sockets: below /tmp, private to the user, one for each data folder."""
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]
        return Path("/tmp") / f"easyloop-{os.getuid()}-{digest}"  # noqa: S108 - made 0700 and checked by make_private

    @property
    def supervisor_socket(self) -> Path:
        """In the data folder unless its path is too long for a socket."""
        usual = self.run / "supervisor.sock"
        return usual if len(os.fsencode(usual)) <= SOCKET_PATH_BYTES else self.short / "supervisor.sock"

    def log_of(self, program: str) -> Path:
        """The log of one program."""
        return self.logs / f"{program}.log"

    def make_folders(self) -> None:
        """Make the folders, the data folder readable by its owner alone."""
        _refuse_unusable(self.root)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.run, self.logs):
            folder.mkdir(exist_ok=True)
        make_private(self.short)


def make_private(folder: Path) -> None:
    """Make a folder of mode 0700; refuse one that another user made first under a guessable name."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StackError(str(folder), "it belongs to somebody else", "remove it, or choose another data folder")
    folder.chmod(0o700)


def _refuse_unusable(root: Path) -> None:
    # Supervisor expands, cuts and strips these, some of them twice, and offers no way to escape them.
    held = [mark for mark in (" ;", " #", "%", "'", '"', "\n") if mark in str(root)]
    if held:
        remedy = f"set {DATA_DIR_VARIABLE} to a folder whose path has no quotes, no % and no ' ;' or ' #'"
        raise StackError(str(root), f"the path of the data folder holds {held[0]!r}", remedy)
