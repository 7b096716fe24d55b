"""Runs jobs, one at a time, each in a process of its own; writes what the process says under the job's fence."""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from chassis.errors import ServerUnavailable, StaleLease, WriteConflict
from chassis.job_processes import JobProcesses, end
from chassis.jobs import D, Job, JobKind, JobQueue, Message, check_fence
from chassis.metrics import JOBS_ENDED
from chassis.telemetry import JOB_ATTEMPT, JOB_ID, current_traceparent, record_failure, work_span
from schemas.base import Failure

log = logging.getLogger(__name__)

IDLE_S = 2.0
HEARTBEAT_S = 1.5
LEASE_S = 8.0
CONFLICT_ATTEMPTS = 20


@dataclass
class JobWorker(Generic[D]):
    """One job at a time; see JobProcesses for where."""

    deps: D
    kinds: Mapping[str, JobKind[D]]
    queue: JobQueue
    processes: JobProcesses
    _idle_since: float | None = field(default=None, init=False)

    async def turn(self) -> None:
        """Take one job and see it through; waits for a nudge when there is none."""
        try:
            job = await self.queue.claim()
        except ServerUnavailable as error:
            log.warning("jobs: %s", error)
            job = None
        if job is None:
            await self._be_idle()
            return
        self._idle_since = None
        kind = self.kinds[job.kind]
        if job.attempts > kind.max_attempts:
            await self._give_up(job, kind)
            return
        await self._see_through(job, kind)

    async def _be_idle(self) -> None:
        now = self.deps.clock.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        await self.processes.idle(now - self._idle_since)
        await self.deps.jobs_wake.wait(IDLE_S)

    async def _give_up(self, job: Job, kind: JobKind[D]) -> None:
        sentence = (
            f"The {job.kind} job stopped {kind.max_attempts} times without a result; "
            f"see the log of {self.deps.service}, make sure that the machine has enough memory, and start a new run."
        )
        await self._fail(job, kind, Failure(code="job_died", sentence=sentence))

    async def _see_through(self, job: Job, kind: JobKind[D]) -> None:
        attributes: dict[str, str | int] = {JOB_ID: job.id, JOB_ATTEMPT: job.attempts}
        with work_span(f"job {job.kind}", job.traceparent, attributes) as span:
            log.info("job %s %s for %s: attempt %d", job.kind, job.id, job.key, job.attempts)
            try:
                failure = await self._run(job, kind)
            except StaleLease as stale:
                log.info("%s", stale)
                JOBS_ENDED.labels(self.deps.service, job.kind, "stale").inc()
            except asyncio.CancelledError:
                await self.queue.hand_back(job)
                raise
            else:
                if failure is not None:
                    record_failure(span, failure.code, failure.sentence)

    async def _run(self, job: Job, kind: JobKind[D]) -> Failure | None:
        order = {"job_id": job.id, "kind": job.kind, "args": job.args, "traceparent": current_traceparent()}
        process = await self.processes.take(order)
        beating = asyncio.create_task(self._heartbeat(job, process))
        try:
            failure = await self._converse(job, kind, process)
        finally:
            beating.cancel()
            await end(process)
        return failure

    async def _converse(self, job: Job, kind: JobKind[D], process: asyncio.subprocess.Process) -> Failure | None:
        assert process.stdout is not None  # noqa: S101 - narrows the type: stdout is a pipe by JobProcesses
        async for line in process.stdout:
            message: Message = json.loads(line)
            if "result" in message:
                await self._finish(job, kind, message["result"])
                return None
            if "failure" in message:
                failure = Failure.model_validate(message["failure"])
                await self._fail(job, kind, failure)
                return failure
            await self._fenced(job, kind.on_message, message, None)
        code = await process.wait()
        await self.queue.try_again(job)
        log.error(
            "job %s %s: its process ended with exit code %s and no result; it is tried again", job.kind, job.id, code
        )
        return Failure(code="job_process_died", sentence=f"The {job.kind} process ended with exit code {code}.")

    async def _finish(self, job: Job, kind: JobKind[D], result: Message) -> None:
        await self._fenced(job, kind.on_result, result, "done")
        JOBS_ENDED.labels(self.deps.service, job.kind, "done").inc()

    async def _fail(self, job: Job, kind: JobKind[D], failure: Failure) -> None:
        log.error("job %s %s failed: %s: %s", job.kind, job.id, failure.code, failure.sentence)
        await self._fenced(job, kind.on_failure, failure, "failed")
        JOBS_ENDED.labels(self.deps.service, job.kind, "failed").inc()

    async def _fenced(self, job: Job, act: Any, what: Any, status: str | None) -> None:
        for _ in range(CONFLICT_ATTEMPTS):
            try:
                async with self.deps.unit_of_work() as tx:
                    await check_fence(tx, job)
                    await act(job, what, tx, self.deps)
                    if status:
                        await tx.documents.update(Job.COLLECTION, job.id, {"status": status})
                return
            except (WriteConflict, ServerUnavailable) as error:
                log.info("job %s: %s", job.id, error)
                await asyncio.sleep(0.1 if isinstance(error, WriteConflict) else HEARTBEAT_S)
        raise StaleLease(f"job {job.id}: its outcome could not be written in {CONFLICT_ATTEMPTS} attempts")

    async def _heartbeat(self, job: Job, process: asyncio.subprocess.Process) -> None:
        beat = 0
        while process.returncode is None:
            await asyncio.sleep(HEARTBEAT_S)
            beat += 1
            try:
                held = await self.queue.beat(job, beat)
            except ServerUnavailable as error:
                log.warning("heartbeat of job %s: %s", job.id, error)
                continue
            if not held:
                process.kill()
                return
