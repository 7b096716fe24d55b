"""The processes in which jobs run: started for an order, or ahead of it and waiting with their libraries loaded."""

import asyncio
import json
import math
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LINE_LIMIT = 4 * 1024 * 1024
TERM_GRACE_S = 10.0
CALM_LOAD = 0.5  # a core


def machine_is_calm() -> bool:
    """Whether most of its cores were idle in the last minute; where that is not known, it is."""
    return not hasattr(os, "getloadavg") or os.getloadavg()[0] < CALM_LOAD * (os.cpu_count() or 1)


@dataclass
class JobProcesses:
    """`command` starts a process: its order comes as one JSON line on stdin, its messages as JSON lines on stdout.

    The open stdin is the process's sign of life from here: it ends itself when the pipe closes. After `spare_after_s`
    seconds without a job one process is started ahead, when the machine has nothing better to do; it takes the next
    order, which it would else keep waiting for as long as its imports take.
    """

    command: Sequence[str]
    env: Mapping[str, str]
    spare_after_s: float = math.inf
    is_calm: Callable[[], bool] = machine_is_calm
    _spare: Process | None = field(default=None, init=False)

    @property
    def spare_pid(self) -> int | None:
        """Of the process that waits, if there is one."""
        return self._spare.pid if self._spare is not None else None

    async def take(self, order: dict[str, Any]) -> Process:
        """A process that has the order: the one that waits, or a new one."""
        line = json.dumps(order).encode() + b"\n"
        spare, self._spare = self._spare, None
        if spare is not None and spare.returncode is None:
            try:
                return await _ordered(spare, line)
            except ConnectionError:  # it ended just now
                await end(spare)
        return await _ordered(await self._start(), line)

    async def idle(self, seconds: float) -> None:
        """Nothing was to do for so long."""
        # One that ended by itself stays: whatever ails it, the next job will tell.
        if self._spare is None and seconds >= self.spare_after_s and self.is_calm():
            self._spare = await self._start()

    async def close(self) -> None:
        """End the process that waits, if there is one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            await end(spare)

    async def _start(self) -> Process:
        env = {**os.environ, **self.env}
        return await asyncio.create_subprocess_exec(*self.command, stdin=PIPE, stdout=PIPE, env=env, limit=LINE_LIMIT)


async def end(process: Process) -> None:
    """Close its stdin, and kill it where that is not enough."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), TERM_GRACE_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def this_python(module: str) -> list[str]:
    """The command that runs `module` as a job process."""
    return [sys.executable, "-m", module, "job"]


async def _ordered(process: Process, line: bytes) -> Process:
    assert process.stdin is not None  # noqa: S101 - narrows the type: stdin is a pipe by JobProcesses._start
    process.stdin.write(line)
    await process.stdin.drain()
    return process
