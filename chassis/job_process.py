"""Inside a job process: read the order, do the work in the main thread, say how it goes.

Standard output belongs to the conversation with the worker; whatever libraries print goes to standard error. The
process ends itself when its standard input closes, so that it never outlives the worker that holds the lease.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from chassis.errors import PermanentError, TransientError
from chassis.runtime import configure_logging
from chassis.settings import ServiceSettings
from chassis.telemetry import JOB_ID, start_tracing, work_span

log = logging.getLogger(__name__)

PROGRESS_INTERVAL_S = 1.0
EXIT_ABANDONED = 70


@dataclass
class JobContext:
    """The order, and a voice."""

    job_id: str
    kind: str
    args: dict[str, Any]
    traceparent: str | None
    _out: IO[str]
    _last_progress: float = field(default=float("-inf"))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, message: dict[str, Any]) -> None:
        """One message to the service; thread-safe. Keys `result` and `failure` are reserved."""
        with self._lock:
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()

    def progress(self, stage: str, fraction: float, message_code: str, **more: Any) -> None:
        """How far it is, 0 to 1; said at most once a second, the last of a stage (fraction 1) always."""
        now = time.monotonic()
        if fraction < 1 and now - self._last_progress < PROGRESS_INTERVAL_S:
            return
        self._last_progress = now
        progress = {"stage": stage, "fraction": min(1.0, fraction), "message_code": message_code, **more}
        self.say({"progress": progress})


Work = Callable[[JobContext], dict[str, Any]]


def run_job(
    service: str, settings: ServiceSettings, works: dict[str, Work], prepare: Callable[[], None] = lambda: None
) -> None:
    """Do the one job that standard input names; called from main.py when its argument is `job`, in the main thread.

    `prepare` loads what any job will need: the process may have been started long before its order comes. Returns
    normally in every case that was said to the worker, and when no order comes.
    """
    voice = _take_standard_output()
    prepare()
    if not (line := sys.stdin.readline()):
        return
    order = json.loads(line)
    context = JobContext(order["job_id"], order["kind"], order["args"], order["traceparent"], voice)
    _end_with_the_worker()
    configure_logging(f"{service}/{context.kind}", settings.log_level)
    tracing = start_tracing(service, otlp_endpoint=settings.otlp_endpoint, trace_dir=settings.trace_dir)
    try:
        with work_span(f"{context.kind} process", context.traceparent, {JOB_ID: context.job_id}):
            _do(works[context.kind], context)
    finally:
        tracing.shutdown()


def _do(work: Work, context: JobContext) -> None:
    try:
        context.say({"result": work(context)})
    except PermanentError as error:
        context.say({"failure": {"code": error.code, "sentence": error.sentence}})
    except TransientError:
        # No message: the worker queues the job again, a bounded number of times.
        log.exception("job %s %s cannot go on now", context.kind, context.job_id)
        raise


def _take_standard_output() -> IO[str]:
    voice = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return voice


def _end_with_the_worker() -> None:
    def watch() -> None:
        # Raw reads: a thread inside sys.stdin.read() holds a lock that aborts the interpreter at its exit.
        while os.read(0, 1024):
            pass
        os._exit(EXIT_ABANDONED)

    threading.Thread(target=watch, name="worker-watch", daemon=True).start()
