"""One process of the stack, described apart from whoever starts it (supervisor or a test)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A command with its environment.

    `environment` is added to that of the starter. `port` is what `status` shows. `stop_seconds` is how
    long SIGTERM may take before SIGKILL follows.
    """

    name: str
    command: tuple[str, ...]
    directory: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_seconds: int = 25
