"""The life of a service: wait for what it needs, turn its loops until SIGTERM, stop cleanly."""

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from chassis.health import Probe, failing_probes

log = logging.getLogger(__name__)

WAIT_S = 0.5
STOP_GRACE_S = 15.0

Turn = Callable[[], Awaitable[None]]
Closer = Callable[[], Awaitable[None]]


@dataclass
class Service:
    """The parts of one service. Each loop is a `turn` called again and again; `closers` run in order at the end."""

    name: str
    probes: Mapping[str, Probe]
    loops: Mapping[str, Turn]
    server: uvicorn.Server
    prepare: Closer
    closers: Sequence[Closer] = ()
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Until SIGTERM or SIGINT, or until a loop fails: the supervisor then starts the service afresh."""
        self._listen_for_signals()
        serving = asyncio.create_task(self.server.serve(), name="http")
        if await self._until_servers_answer():
            await self.prepare()
            log.info("%s is ready", self.name)
            await self._turn_loops(serving)
        self.server.should_exit = True
        await serving
        for close in self.closers:
            await close()
        log.info("%s has stopped", self.name)

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)

    async def _until_servers_answer(self) -> bool:
        said: dict[str, str] = {}
        while not self._stop.is_set():
            waiting_for = await failing_probes(self.probes)
            if not waiting_for:
                return True
            if waiting_for.keys() != said.keys():
                log.info("%s waits for %s", self.name, "; ".join(f"{who}: {why}" for who, why in waiting_for.items()))
                said = waiting_for
            await asyncio.sleep(WAIT_S)
        return False

    async def _turn_loops(self, serving: asyncio.Task[None]) -> None:
        tasks = [asyncio.create_task(self._turns(turn), name=name) for name, turn in self.loops.items()]
        stopped = asyncio.create_task(self._stop.wait(), name="stop")
        done, _ = await asyncio.wait([*tasks, stopped, serving], return_when=asyncio.FIRST_COMPLETED)
        self._stop.set()
        await self._wind_down(tasks)
        for task in done:
            if task is not stopped and not task.cancelled() and (error := task.exception()):
                raise error

    async def _turns(self, turn: Turn) -> None:
        while not self._stop.is_set():
            await turn()

    async def _wind_down(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Let each loop end its turn; after the grace its long work is handed back by cancellation."""
        _, late = await asyncio.wait(tasks, timeout=WAIT_S * 4)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=STOP_GRACE_S)


def configure_logging(name: str, log_level: str) -> None:
    """One line a message on standard error, which the supervisor keeps."""
    line = f"%(asctime)s %(levelname)s {name} %(name)s: %(message)s"
    # By force: libraries that were imported before (Paddle) have put handlers of their own on the root logger.
    logging.basicConfig(level=log_level, stream=sys.stderr, format=line, force=True)
    for noisy in ("kafka", "httpx", "pymongo", "urllib3", "faust", "aiokafka", "mode"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # It warns of every step of 0.1 s as of a fault; a busy machine has them all the time.
    logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)


def run(name: str, log_level: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Configure logging, run, and leave with a non-zero status when the service failed."""
    configure_logging(name, log_level)
    asyncio.run(main())
