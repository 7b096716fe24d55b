"""How a service is put together from the chassis. Called from main.py alone, inside the event loop."""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import uvicorn

from chassis.blobs.s3 import S3BlobStore
from chassis.blobs.s3_sessions import S3UploadSessions
from chassis.bus.clients import BusClients
from chassis.clock import SystemClock
from chassis.consuming import ConsumerLoop
from chassis.deps import Deps, Handlers
from chassis.dispatch import Dispatcher
from chassis.documents import mongo
from chassis.documents.mongo import MongoDatabase
from chassis.documents.ports import Index
from chassis.errors import ServerUnavailable
from chassis.failpoints import Failpoints
from chassis.failures import DONE_AT, FailedEvent, Failures, RetryPolicy
from chassis.health import Probe, health_server
from chassis.ids import UlidIds
from chassis.job_processes import JobProcesses, this_python
from chassis.jobs import D, Job, JobKind, JobQueue
from chassis.leases import LeaderLease
from chassis.lost_rows import LostRows
from chassis.relay import RELAY_LEASE, OutboxRelay
from chassis.runtime import Closer, Service, Turn
from chassis.settings import ServiceSettings
from chassis.telemetry import start_tracing
from chassis.topics import TopicCatalog, load_topics
from chassis.unit_of_work import INBOX, OUTBOX
from chassis.wake import Wake
from chassis.worker import LEASE_S, JobWorker

log = logging.getLogger(__name__)

RETRY_INTERVAL_S = 1.0
PAUSE_S = 1.0

INDEXES = (
    Index(OUTBOX, ("status",)),
    Index(OUTBOX, ("key", "status")),
    Index(OUTBOX, ("topic", "partition", "offset")),
    Index(FailedEvent.COLLECTION, ("status",)),
    Index(FailedEvent.COLLECTION, ("key", "status")),
    Index(Job.COLLECTION, ("status", "kind")),
    Index(Job.COLLECTION, ("key", "status")),
)


def retention_indexes(topics: TopicCatalog) -> tuple[Index, ...]:
    """Inbox marks and outbox rows outlive every message: a group that reads from the start again changes nothing.

    Failures stay as long once they are done; those that are not stay until they are.
    """
    seconds = (max(topic.retention_days for topic in topics.topics) + 1) * 24 * 3600
    return (
        Index(INBOX, ("at",), expire_after_s=seconds),
        Index(OUTBOX, ("sent_at",), expire_after_s=seconds),
        Index(FailedEvent.COLLECTION, (DONE_AT,), expire_after_s=seconds),
    )


def database_name(service: str) -> str:
    """Each service has a database of its own; only it writes there."""
    return f"el_{service}"


def databases(settings: ServiceSettings, *services: str) -> dict[str, MongoDatabase]:
    """The databases of these services, by name, on one client: closing one closes all. Write only to your own."""
    client = mongo.connect(settings.mongo_uri.get_secret_value())
    return {service: MongoDatabase(client, database_name(service)) for service in services}


def connect(settings: ServiceSettings, service: str) -> Deps:
    """The production dependencies. Nothing is sent yet: every client connects at its first use."""
    return Deps(
        service=service,
        database=databases(settings, service)[service],
        blobs=blob_store(settings),
        clock=SystemClock(),
        ids=UlidIds(),
        topics=load_topics(),
        relay_wake=Wake(),
        jobs_wake=Wake(),
    )


def blob_store(settings: ServiceSettings) -> S3BlobStore:
    """The object store that the settings name; job processes use it too."""
    return S3BlobStore(
        settings.s3_endpoint,
        settings.s3_access_key.get_secret_value(),
        settings.s3_secret_key.get_secret_value(),
        settings.s3_bucket,
        secure=settings.s3_secure,
    )


def upload_sessions(settings: ServiceSettings) -> S3UploadSessions:
    """Uploads in parts to that object store."""
    return S3UploadSessions(
        settings.s3_endpoint,
        settings.s3_access_key.get_secret_value(),
        settings.s3_secret_key.get_secret_value(),
        settings.s3_bucket,
        secure=settings.s3_secure,
    )


@dataclass
class Assembly:
    """The standard parts of one service, built around its handlers."""

    settings: ServiceSettings
    deps: Deps
    handlers: Handlers
    bus: BusClients = field(init=False)
    dispatcher: Dispatcher = field(init=False)
    _closers: list[Closer] = field(default_factory=list)

    def __post_init__(self) -> None:
        start_tracing(self.deps.service, otlp_endpoint=self.settings.otlp_endpoint, trace_dir=self.settings.trace_dir)
        self.bus = BusClients(self.settings.kafka_bootstrap_servers, self.settings.bus_kind, self.deps.topics)
        self.dispatcher = Dispatcher(self.handlers, self.deps, Failures(self.deps, RetryPolicy()))

    def topics(self) -> list[str]:
        """Those that carry an event which the service handles."""
        handled = {event.TYPE for event in self.handlers}
        return [topic.name for topic in self.deps.topics.read_by(self.deps.service) if handled & set(topic.events)]

    def consumer(self) -> Turn:
        """The loop that consumes those topics in the name of the service's group."""
        service = self.deps.service
        consumer = self.bus.consumer(service, self.topics(), f"{service}-{self.settings.instance}")
        self._closers.append(consumer.close)
        return ConsumerLoop(consumer, self.dispatcher).turn

    def worker(
        self,
        deps: D,
        kinds: Sequence[JobKind[D]],
        module: str,
        env: Mapping[str, str] = MappingProxyType({}),
        spare_after_s: float = math.inf,
    ) -> Turn:
        """The loop that runs jobs, each in a process of `python -m module job` with `env` added; see JobProcesses."""
        by_name = {kind.name: kind for kind in kinds}
        queue = JobQueue(deps, tuple(by_name), self.settings.instance, LEASE_S)
        processes = JobProcesses(this_python(module), env, spare_after_s)
        self._closers.append(processes.close)
        return JobWorker(deps, by_name, queue, processes).turn

    def service(
        self, loops: Mapping[str, Turn], indexes: Sequence[Index] = (), server: uvicorn.Server | None = None
    ) -> Service:
        """Those loops, the outbox relay and the retrying of failed events."""
        standard = {"relay": self._relay(), "retries": self._retry_turn}
        probes = self.probes()

        async def prepare() -> None:
            await self.deps.database.ensure_indexes([*INDEXES, *retention_indexes(self.deps.topics), *indexes])

        return Service(
            name=self.deps.service,
            probes=probes,
            loops={name: _patient(name, turn) for name, turn in {**loops, **standard}.items()},
            server=server or health_server(probes, self.settings.bind_host, self.settings.health_port),
            prepare=prepare,
            closers=[*self._closers, self.deps.database.close],
        )

    def probes(self) -> dict[str, Probe]:
        """Whether each server the service stands on answers."""

        async def blobs() -> None:
            await asyncio.to_thread(self.deps.blobs.ping)

        return {"kafka": self.bus.ping, "mongo": self.deps.database.ping, "s3": blobs}

    def _relay(self) -> Turn:
        deps, settings = self.deps, self.settings
        producer = self.bus.producer(f"{deps.service}-{settings.instance}")
        written = [topic.name for topic in deps.topics.written_by(deps.service)]
        reach = Failpoints.parse(settings.failpoints, settings.data_dir).reach
        lost = LostRows(deps.database, producer, self.bus, deps.clock, written)
        lease = LeaderLease(deps.database, RELAY_LEASE, settings.instance, deps.clock)
        self._closers += [producer.close, lease.release]
        return OutboxRelay(deps.service, deps.database, producer, lease, deps.clock, deps.relay_wake, lost, reach).turn

    async def _retry_turn(self) -> None:
        await self.dispatcher.retry_due()
        await asyncio.sleep(RETRY_INTERVAL_S)


def _patient(name: str, turn: Turn) -> Turn:
    """A loop that waits while a server is away; any other error ends the process, and it is started afresh."""

    async def patient() -> None:
        try:
            await turn()
        except ServerUnavailable as error:
            log.warning("%s: %s; waiting %.0f s", name, error, PAUSE_S)
            await asyncio.sleep(PAUSE_S)

    return patient
