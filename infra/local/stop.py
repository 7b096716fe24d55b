"""Stopping a local stack, and making sure that nothing of it goes on."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from infra.local.layout import Layout
from infra.local.process_tree import Process, descendants, processes_with, running_processes, still_running
from infra.local.services import SERVICE_PORTS
from infra.local.stack import SERVER_NAMES
from infra.local.supervisor_client import Supervisor

# The services get 25 s to hand back their work, SeaweedFS takes 15 s to end; supervisord kills after 25.
STOP_SECONDS = 35
SUPERVISOR_SECONDS = 15
GRACE_SECONDS = 5

Report = Callable[[str], None]


def stop_stack(layout: Layout, report: Report) -> None:
    """Stop the services and Ray, then the servers they need, then supervisord; end whatever is left.

    Does nothing when nothing runs. Raises StackError when something cannot be stopped.
    """
    supervisor = Supervisor(layout)
    started = time.monotonic()
    if supervisor.alive():
        tree = descendants(supervisor.pid(), running_processes())
        _stop_programs(supervisor, report)
        supervisor.shutdown()
        _end(_wait_gone(tree, SUPERVISOR_SECONDS), report)
        end_strays(layout, report)
        report(f"stopped after {time.monotonic() - started:.1f} s")
    elif not end_strays(layout, report):
        report("nothing runs")
    layout.stack_file.unlink(missing_ok=True)
    # Sockets and session files of Ray; they mean nothing to the next start and grow with each.
    shutil.rmtree(layout.short, ignore_errors=True)


def _stop_programs(supervisor: Supervisor, report: Report) -> None:
    for what, names in (("services", ("ray", *SERVICE_PORTS)), ("servers", SERVER_NAMES)):
        running = [name for name, info in supervisor.processes().items() if name in names and info.pid]
        if running:
            report(f"stopping {what}: {', '.join(sorted(running))}")
        # All are told at once and end side by side.
        for name in names:
            supervisor.stop(name)
        supervisor.wait_ended(frozenset(names), STOP_SECONDS)


def end_strays(layout: Layout, report: Report) -> int:
    """End processes that a killed supervisord left behind, and return how many there were."""
    strays = processes_with("SUPERVISOR_SERVER_URL", f"unix://{layout.supervisor_socket}")
    return _end(strays, report)


def _end(processes: Sequence[Process], report: Report) -> int:
    if processes:
        report(f"ending {len(processes)} processes that went on: {', '.join(str(each.pid) for each in processes)}")
    left = processes
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
        left = _wait_gone(left, GRACE_SECONDS)
    return len(processes)


def _wait_gone(processes: Sequence[Process], timeout_seconds: float) -> list[Process]:
    deadline = time.monotonic() + timeout_seconds
    left = list(processes)
    while left and time.monotonic() < deadline:
        left = still_running(left, running_processes())
        if left:
            time.sleep(0.1)
    return left
