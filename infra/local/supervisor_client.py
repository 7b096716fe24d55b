"""Talking to the stack's supervisord."""

import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, cast
from xmlrpc.client import Fault, ServerProxy

from supervisor.xmlrpc import SupervisorTransport

from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.log_tail import log_tail

START_SECONDS = 15
STOP_SECONDS = 35
ALIVE_STATES = frozenset({"STARTING", "RUNNING", "BACKOFF"})
ENDED_STATES = frozenset({"STOPPED", "EXITED", "FATAL", "UNKNOWN"})
ALREADY_STARTED = 60
NOT_RUNNING = 70


@dataclass(frozen=True)
class ProcessInfo:
    """What supervisord says of a program. `pid` is 0 and `uptime_seconds` 0 when it does not run."""

    name: str
    state: str
    pid: int
    uptime_seconds: int

    @property
    def running(self) -> bool:
        """Started, and up for a second."""
        return self.state == "RUNNING"


class Supervisor:
    """A client for one data folder. Safe to use from several threads: each call opens its own connection."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def alive(self) -> bool:
        """Whether a supervisord answers."""
        path = self._layout.supervisor_socket
        if not path.exists():
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(str(path))
            return bool(self._call("getState")["statename"] in ("RUNNING", "RESTARTING"))
        except (OSError, HTTPException, Fault):
            # Nobody listens (a killed supervisord leaves its socket behind), or it is on its way out.
            return False

    def launch(self) -> None:
        """Start supervisord in the background with the settings file that is there."""
        command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(self._layout.supervisor_config)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS)
        deadline = time.monotonic() + START_SECONDS
        while answer.returncode == 0 and time.monotonic() < deadline:
            if self.alive():
                return
            time.sleep(0.05)
        log = log_tail(self._layout.logs / "supervisord.log")
        reason = "it did not start"
        raise StackError("supervisord", reason, "see the lines below", f"{answer.stderr.strip()}\n{log}".strip())

    def pid(self) -> int:
        """The process id of supervisord."""
        return int(self._call("getPID"))

    def processes(self) -> dict[str, ProcessInfo]:
        """Every program by name."""
        return {info.name: info for info in map(_process_info, self._call("getAllProcessInfo"))}

    def start(self, name: str) -> None:
        """Start a program without waiting; nothing happens when it runs."""
        self._call_unless(ALREADY_STARTED, "startProcess", name)

    def stop(self, name: str) -> None:
        """Ask a program to end without waiting; nothing happens when it does not run."""
        self._call_unless(NOT_RUNNING, "stopProcess", name)

    def restart(self, name: str) -> None:
        """Stop a program, wait until it has ended, and start it again."""
        self.stop(name)
        self.wait_ended(frozenset({name}), STOP_SECONDS)
        self.start(name)

    def wait_ended(self, names: frozenset[str], timeout_seconds: float) -> None:
        """Wait until none of them runs. Raises StackError naming those that still do."""
        deadline = time.monotonic() + timeout_seconds
        while left := {name for name, info in self.processes().items() if info.state not in ENDED_STATES} & names:
            if time.monotonic() > deadline:
                raise StackError(", ".join(sorted(left)), "it does not stop", "end the process by hand")
            time.sleep(0.1)

    def shutdown(self) -> None:
        """Ask supervisord itself to end."""
        self._call("shutdown")

    def _call_unless(self, harmless: int, method: str, name: str) -> None:
        try:
            self._call(method, name, False)
        except Fault as fault:
            if fault.faultCode != harmless:
                raise

    def _call(self, method: str, *arguments: object) -> Any:
        transport = SupervisorTransport(None, None, serverurl=f"unix://{self._layout.supervisor_socket}")
        try:
            # The host in this address is never looked at: the transport has the socket.
            proxy = ServerProxy("http://127.0.0.1", transport=transport)
            return getattr(cast(Any, proxy).supervisor, method)(*arguments)
        finally:
            transport.close()


def _process_info(raw: dict[str, Any]) -> ProcessInfo:
    running = raw["statename"] in ("RUNNING", "STARTING", "STOPPING")
    uptime = raw["now"] - raw["start"] if running else 0
    return ProcessInfo(raw["name"], raw["statename"], raw["pid"], max(0, uptime))
