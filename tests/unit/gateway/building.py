"""A gateway over fakes, with a model whose predictor says what it is told."""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.fake_sessions import FakeUploadSessions
from chassis.bus.fake import FakeBrokers, FakeBus
from chassis.clock import FakeClock
from chassis.documents.fake import FakeDatabase
from chassis.health import Probe
from learning.errors import SampleRejected
from learning.task import BundleManifest, Calibration, ClassInfo, Prediction, Predictor, Score
from schemas.base import BlobRef
from services.gateway.api.app import create_app
from services.gateway.api.context import ApiContext
from services.gateway.bundles import BundleStore
from services.gateway.deps import GatewayDeps
from services.gateway.examining import Examination
from services.gateway.model_pool import ModelPool
from services.gateway.predicting import PredictionPool
from services.gateway.settings import GatewaySettings
from tests.builders import build_deps, extended

KEY = "elk_0123456789abcdef"
BROKEN = b"broken"
T0 = "2026-01-01T00:00:00.000Z"


class FakePredictor:
    """Scores its own version first; content `broken` cannot be read."""

    def __init__(self, version: str, classes: int = 3) -> None:
        self.version = version
        self.is_warm = False
        infos = tuple(ClassInfo(f"c{n}", f"class {n}") for n in range(classes))
        self.manifest = BundleManifest("image_classification", infos, Calibration(1.0, 0.5))

    def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
        """See Predictor."""
        if BROKEN in contents:
            raise SampleRejected("truncated_image", "picture 1: the file breaks off; upload it again.")
        names = [self.version, *(info.name for info in self.manifest.classes[1:])]
        scores = tuple(Score(f"c{n}", name, 1.0 / (n + 2)) for n, name in enumerate(names))
        return [Prediction(scores) for _ in contents]

    def warm_up(self) -> None:
        """See Predictor."""
        self.is_warm = True


def load_fake(task: str, folder: Path) -> Predictor:
    """The predictor whose version stands in the bundle's manifest."""
    return FakePredictor(json.loads((folder / "manifest.json").read_text())["version"])


def a_bundle(blobs: FakeBlobStore, version: str) -> BlobRef:
    """A bundle that `load_fake` can load."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("manifest.json", json.dumps({"version": version}))
    return blobs.put("prj_default", archive.getvalue(), "application/zip")


@dataclass
class Gateway:
    """A gateway under test; `stops_after` is how often an endless stream may look before the server stops."""

    folder: Path
    load: Callable[[str, Path], Predictor] = load_fake
    stops_after: int | None = None
    probes: dict[str, Probe] = field(default_factory=dict)
    prepared: bool = True
    settings_changes: dict[str, Any] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.ingest, self.preprocess, self.registry = FakeDatabase(), FakeDatabase(), FakeDatabase()
        self.prepared_tasks: list[str] = []
        read = {"ingest": self.ingest, "preprocess": self.preprocess, "registry": self.registry}
        read |= {name: FakeDatabase() for name in ("hpo", "trainer", "evaluator")}
        self.databases = read
        self.blobs = FakeBlobStore()
        self.sessions = FakeUploadSessions(self.blobs, self.clock)
        shared = replace(build_deps("gateway", clock=self.clock), blobs=self.blobs)
        self.deps: GatewayDeps = extended(shared, GatewayDeps, read=read, sessions=self.sessions)
        self.database: FakeDatabase = self.deps.database
        self.settings = a_settings(self.folder, **self.settings_changes)
        self.models = ModelPool(
            self.deps, BundleStore(self.blobs, self.folder / "models", self.load, self.prepared_tasks.append), "gw-1"
        )
        self.predictions = PredictionPool(self.settings.predict_threads, self.settings.predict_queue)
        self.bus = FakeBus()
        context = ApiContext(
            self.settings,
            self.deps,
            self.models,
            self.predictions,
            self.probes,
            Examination(self.deps, FakeBrokers(self.bus), self.probes, self.folder),
            self._stopping,
            lambda: self.prepared,
        )
        self.app = create_app(context)

    def client(self, key: str | None = KEY) -> httpx.AsyncClient:
        """A caller; without a key when it is None."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://gateway", headers=headers)

    async def has_dataset(self, dataset_id: str = "ds_1", **changes: Any) -> None:
        """As ingest would store it."""
        row = {"_id": dataset_id, "name": "fruit", "task": "image_classification", "auto_train": "fast"}
        await self.ingest.put("datasets", {**row, "next_version": 1, "created_at": T0, **changes})

    async def has_version(self, number: int, status: str = "ready", dataset_id: str = "ds_1", **changes: Any) -> None:
        """As preprocess would store it."""
        row = {"_id": f"{dataset_id}/{number}", "dataset_id": dataset_id, "version": number, "status": status}
        await self.preprocess.put("versions", {**row, "sample_count": 9, "created_at": T0, **changes})

    async def has_run(self, run_id: str = "run_1", state: str = "searching", **changes: Any) -> None:
        """As the registry would store it."""
        row = {"_id": run_id, "dataset_id": "ds_1", "version": 1, "preset": "fast", "trigger": "auto", "state": state}
        times = {"requested": T0}
        await self.registry.put("runs", {**row, "stage_times": times, "created_at": T0, **changes})

    async def has_model(self, version: int = 1, alias: str | None = "production") -> BlobRef:
        """Model mdl_1 with that version, published under `alias` unless that is None."""
        bundle = a_bundle(self.blobs, f"v{version}")
        report = self.blobs.put("prj_default", b'{"accuracy": 0.9}', "application/json")
        model = {"_id": "mdl_1", "dataset_id": "ds_1", "task": "image_classification", "last_version": version}
        await self.registry.put("models", {**model, "created_at": T0})
        row = {"_id": f"mdl_1/{version}", "model_id": "mdl_1", "version": version, "run_id": "run_1"}
        blobs = {"bundle": bundle.model_dump(), "report": report.model_dump()}
        data = {"dataset_id": "ds_1", "dataset_version": 1, "metrics": {"accuracy": 0.9}, "created_at": T0}
        await self.registry.put("model_versions", {**row, **blobs, **data})
        if alias is not None:
            await self.has_alias(version, alias)
        return bundle

    async def has_alias(self, version: int, alias: str = "production") -> None:
        """As the registry would move it."""
        row = {"_id": f"mdl_1/{alias}", "model_id": "mdl_1", "alias": alias, "version": version}
        await self.registry.put("aliases", row)

    def _stopping(self) -> bool:
        if self.stops_after is None:
            return False
        self.stops_after -= 1
        return self.stops_after < 0


def a_settings(folder: Path, **changes: Any) -> GatewaySettings:
    """Settings that name servers which are never asked."""
    return GatewaySettings(
        kafka_bootstrap_servers="none",
        mongo_uri=SecretStr("none"),
        s3_endpoint="none",
        s3_access_key=SecretStr("none"),
        s3_secret_key=SecretStr("none"),
        admin_key=SecretStr(KEY),
        data_dir=folder,
        **changes,
    )


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    """Whether it is a whole problem document with that status and code."""
    if answer.headers["content-type"] != "application/problem+json" or answer.status_code != status:
        return False
    problem = answer.json()
    return bool(
        problem["code"] == code
        and problem["status"] == status
        and problem["detail"]
        and problem["instance"].startswith("/")
    )
