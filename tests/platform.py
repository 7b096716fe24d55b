"""The way of an upload through the platform in one process: gateway, ingest and preprocess over fakes.

Everything goes in and out by the public API; events are carried from each outbox to the handlers, and import jobs are
run where a worker would.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.fake_sessions import FakeUploadSessions
from chassis.bus.fake import FakeBrokers, FakeBus
from chassis.deps import Deps
from chassis.dispatch import Dispatcher
from chassis.documents.fake import FakeDatabase
from chassis.errors import PermanentError
from chassis.failures import FailedEvent
from chassis.jobs import Job, Message
from chassis.records import Repository
from chassis.unit_of_work import OUTBOX
from schemas.base import Failure
from schemas.catalog import EVENTS
from schemas.deletion import DatasetDeleted, DatasetVersionDeleted, ModelDeleted
from services.gateway.api.app import create_app
from services.gateway.api.context import ApiContext
from services.gateway.bundles import BundleStore
from services.gateway.deps import GatewayDeps
from services.gateway.examining import Examination
from services.gateway.handlers import HANDLERS as GATEWAY_HANDLERS
from services.gateway.model_pool import ModelPool
from services.gateway.predicting import PredictionPool
from services.ingest.archives import ArchiveLimits
from services.ingest.deps import IngestDeps
from services.ingest.handlers import HANDLERS as INGEST_HANDLERS
from services.ingest.handlers import JOB_KINDS
from services.ingest.import_job import ArchiveImport
from services.preprocess.chunk_reading import ChunkReader
from services.preprocess.deps import PreprocessDeps
from services.preprocess.handlers import HANDLERS as PREPROCESS_HANDLERS
from services.registry.handlers import HANDLERS as REGISTRY_HANDLERS
from tests.builders import build_deps, dispatcher, extended, record_of
from tests.unit.gateway.building import KEY, a_settings, load_fake

DELETIONS = (DatasetDeleted, DatasetVersionDeleted, ModelDeleted)
"""What the gateway does more with than archive it; an archive of every event would slow thousands of uploads down."""


@dataclass(frozen=True)
class Uploaded:
    """What the API says of an upload. `refused` is the problem document when it was not taken at all."""

    refused: dict[str, Any] | None = None
    imported: dict[str, Any] | None = None
    version: dict[str, Any] | None = None

    @property
    def outcome(self) -> str:
        """`ready`, or the code of the failure."""
        if self.refused is not None:
            return str(self.refused["code"])
        for part in (self.imported, self.version):
            if part is not None and part["failure"] is not None:
                return str(part["failure"]["code"])
        return str(self.version["status"]) if self.version else "lost"

    @property
    def classes(self) -> dict[str, int]:
        """Samples a class."""
        return {row["name"]: row["count"] for row in (self.version or {}).get("classes", ())}

    @property
    def rejections(self) -> list[tuple[str, str]]:
        """Code and sentence."""
        return [(row["code"], row["sentence"]) for row in (self.version or {}).get("rejections") or ()]

    @property
    def findings(self) -> list[tuple[str, str]]:
        """Code and sentence."""
        return [(row["code"], row["sentence"]) for row in (self.version or {}).get("findings", ())]


class InlinePlatform:
    """`limits` are those of ingest."""

    def __init__(self, folder: Path, limits: ArchiveLimits | None = None) -> None:
        self._folder = folder
        self.blobs = FakeBlobStore()
        read = {name: FakeDatabase() for name in ("ingest", "preprocess", "registry")}
        others = {"preprocess": read["preprocess"], "registry": read["registry"]}
        ingest: IngestDeps = extended(self._deps("ingest", read["ingest"]), IngestDeps, **others)
        more = {"ingest": read["ingest"], "registry": read["registry"], "reader": ChunkReader(self.blobs, threads=2)}
        preprocess = extended(self._deps("preprocess", read["preprocess"]), PreprocessDeps, **more)
        self.registry = self._deps("registry", read["registry"])
        gateway = self._deps("gateway", FakeDatabase())
        sessions = FakeUploadSessions(self.blobs, gateway.clock)
        self.gateway: GatewayDeps = extended(gateway, GatewayDeps, read=read, sessions=sessions)
        self._ingest = ingest
        self.owners: Sequence[Deps] = (self.gateway, ingest, preprocess, self.registry)
        self._readers: Sequence[Dispatcher] = (
            dispatcher(ingest, INGEST_HANDLERS),
            dispatcher(preprocess, PREPROCESS_HANDLERS),
            dispatcher(self.registry, REGISTRY_HANDLERS),
            dispatcher(self.gateway, {kind: GATEWAY_HANDLERS[kind] for kind in DELETIONS}),
        )
        self._work = ArchiveImport(self.blobs, limits or ArchiveLimits(), folder / "imports")
        self._app = create_app(self._context())

    async def create_dataset(self) -> str:
        """The id of a new data set that trains nothing."""
        async with self.client() as client:
            answer = await client.post("/v1/datasets", json={"name": "inputs", "auto_train": "off"})
        assert answer.status_code == 202, answer.text
        await self.settle()
        return str(answer.json()["id"])

    async def upload(
        self, content: bytes, file_name: str, label: str | None = None, dataset_id: str | None = None
    ) -> Uploaded:
        """Upload into a data set (a new one by default) and follow it to its end."""
        dataset_id = dataset_id or await self.create_dataset()
        params = {"file_name": file_name, **({"label": label} if label else {})}
        async with self.client() as client:
            answer = await client.post(f"/v1/datasets/{dataset_id}/imports", params=params, content=content)
            assert answer.status_code < 500, answer.text
            if answer.status_code != 202:
                return Uploaded(refused=answer.json())
            await self.settle()
            imported = (await client.get(answer.headers["Location"])).json()
            assert imported["version"] is not None, imported
            version = await client.get(f"/v1/datasets/{dataset_id}/versions/{imported['version']}")
        assert version.status_code == 200, version.text
        return Uploaded(imported=imported, version=version.json())

    def client(self) -> httpx.AsyncClient:
        """A caller of the public API."""
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://easyloop", headers=headers)

    def _context(self) -> ApiContext:
        settings = a_settings(self._folder)
        models = ModelPool(self.gateway, BundleStore(self.blobs, self._folder / "models", load_fake), "gw-1")
        examination = Examination(self.gateway, FakeBrokers(FakeBus()), {}, self._folder)
        return ApiContext(settings, self.gateway, models, PredictionPool(1, 1), {}, examination)

    def _deps(self, service: str, database: FakeDatabase) -> Deps:
        return replace(build_deps(service, database), blobs=self.blobs)

    async def settle(self) -> None:
        """Until nothing is on its way. Fails when a handler failed: no upload may leave a dead letter behind."""
        while await self._deliver() or await self._run_jobs():
            pass
        for deps in self.owners:
            failed = await Repository(deps.database, FailedEvent).find({})
            assert not failed, failed[0].sentence

    async def _deliver(self) -> int:
        count = 0
        for deps in self.owners:
            rows = await deps.database.find(OUTBOX, {"status": "pending"})
            for row in sorted(rows, key=lambda row: str(row["_id"])):
                event = EVENTS[row["type"]].model_validate_json(row["data"])
                for reader in self._readers:
                    await reader.deliver(record_of(event, event_id=f"{deps.service}/{row['_id']}"))
                await deps.database.update(OUTBOX, row["_id"], {"status": "sent"})
            count += len(rows)
        return count

    async def _run_jobs(self) -> int:
        jobs = await Repository(self._ingest.database, Job).find({"status": "queued"})
        for job in jobs:
            await self._run(job)
            await self._ingest.database.update(Job.COLLECTION, job.id, {"status": "done"})
        return len(jobs)

    async def _run(self, job: Job) -> None:
        (kind,) = [kind for kind in JOB_KINDS if kind.name == job.kind]
        said: list[Message] = []
        try:
            result = self._work.run(job.args, said.append)
        except PermanentError as error:
            async with self._ingest.unit_of_work() as tx:
                await kind.on_failure(job, Failure(code=error.code, sentence=error.sentence), tx, self._ingest)
            return
        for message in said:
            async with self._ingest.unit_of_work() as tx:
                await kind.on_message(job, message, tx, self._ingest)
        async with self._ingest.unit_of_work() as tx:
            await kind.on_result(job, result, tx, self._ingest)
