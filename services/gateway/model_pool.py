"""The models this gateway answers from: whatever the aliases name, swapped without a request noticing.

Source of the rule that loading has a thread of its own: loads in the pool that predicts raise latencies several times.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from chassis.documents.ports import DuplicateDocument
from chassis.errors import PermanentError, ServerUnavailable, WriteConflict
from chassis.telemetry import record_failure, work_span
from learning.errors import LearningError
from learning.task import Predictor
from schemas.base import DEFAULT_PROJECT, BlobRef, Event, Failure
from schemas.serving import ModelDeployed, ModelDeployFailed
from services.gateway.bundles import BundleStore
from services.gateway.deps import GatewayDeps

log = logging.getLogger(__name__)

LOOK_S = 5.0
RETRY_FIRST_S = 10.0
RETRY_MOST_S = 300.0


@dataclass(frozen=True)
class Served:
    """One version behind one alias. A request keeps the one it found until it is answered."""

    model_id: str
    alias: str
    version: int
    bundle_sha: str
    predictor: Predictor

    @property
    def threshold(self) -> float:
        """Below this score a prediction counts as doubtful."""
        return self.predictor.manifest.calibration.threshold


@dataclass(frozen=True)
class _Setback:
    version: int
    attempts: int
    again_at: float


@dataclass(frozen=True)
class _Wanted:
    """What an alias document asks for."""

    model_id: str
    alias: str
    version: int
    project_id: str

    @property
    def place(self) -> str:
        return f"{self.model_id}/{self.alias}"


class ModelPool:
    """Reads are dictionary look-ups; only `refresh` writes, one at a time."""

    def __init__(self, deps: GatewayDeps, bundles: BundleStore, gateway: str) -> None:
        self._deps = deps
        self._bundles = bundles
        self._gateway = gateway
        self._served: dict[str, Served] = {}
        self._setbacks: dict[str, _Setback] = {}
        self._unannounced: list[Event] = []
        self._prepared: set[str] = set()
        self._loading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model-load")

    def find(self, model_id: str, alias: str) -> Served | None:
        """What answers now; None when nothing is loaded under that alias."""
        return self._served.get(f"{model_id}/{alias}")

    async def turn(self) -> None:
        """One look at the aliases, then a pause that news of an alias cuts short."""
        await self.refresh()
        await self._deps.aliases_wake.wait(LOOK_S)

    async def refresh(self) -> None:
        """Load what the aliases name and is not loaded. Raises ServerUnavailable when they cannot be read."""
        await self._announce_late()
        await self._prepare_ahead()
        wanted = [_wanted(row) for row in await self._deps.registry.find("aliases", {})]
        for place in self._served.keys() - {one.place for one in wanted}:
            del self._served[place]
        for one in wanted:
            if self._is_due(one):
                await self._deploy(one)

    async def close(self) -> None:
        """Let no further load begin."""
        self._loading.shutdown(wait=False, cancel_futures=True)

    async def _prepare_ahead(self) -> None:
        for task in self._deps.tasks_ahead - self._prepared:
            self._prepared.add(task)
            try:
                await asyncio.get_running_loop().run_in_executor(self._loading, self._bundles.prepare, task)
            except LearningError as error:
                log.warning("a run is under way whose models this gateway cannot serve: %s", error)

    def _is_due(self, wanted: _Wanted) -> bool:
        served = self._served.get(wanted.place)
        if served is not None and served.version == wanted.version:
            return False
        setback = self._setbacks.get(wanted.place)
        return setback is None or setback.version != wanted.version or setback.again_at <= self._deps.clock.monotonic()

    async def _deploy(self, wanted: _Wanted) -> None:
        cause = self._deps.alias_causes.pop(wanted.place, None)
        attributes: dict[str, str | int] = {
            "easyloop.model_id": wanted.model_id,
            "easyloop.model_version": wanted.version,
        }
        with work_span("load model", cause, attributes) as span:
            started = time.perf_counter()
            try:
                self._served[wanted.place] = await self._load(wanted)
            except ServerUnavailable as error:
                log.warning("%s version %d waits: %s", wanted.place, wanted.version, error)
                self._set_back(wanted)
            except Exception as error:  # noqa: BLE001 - whatever a bundle makes a runtime raise, the old version goes on answering
                failure = _failure(wanted, error)
                record_failure(span, failure.code, failure.sentence)
                await self._failed(wanted, failure)
            else:
                self._setbacks.pop(wanted.place, None)
                await self._announce(self._deployed(wanted, time.perf_counter() - started))

    async def _load(self, wanted: _Wanted) -> Served:
        if (twin := self._twin(wanted)) is not None:
            return Served(wanted.model_id, wanted.alias, wanted.version, twin.bundle_sha, twin.predictor)
        version = await self._deps.registry.get("model_versions", f"{wanted.model_id}/{wanted.version}")
        model = await self._deps.registry.get("models", wanted.model_id)
        if version is None or model is None:
            sentence = (
                f"{wanted.place} names version {wanted.version}, which the registry does not hold; move the alias."
            )
            raise PermanentError("version_unknown", sentence)
        bundle = BlobRef.model_validate(version["bundle"])
        loop = asyncio.get_running_loop()
        predictor = await loop.run_in_executor(self._loading, self._bundles.load, model["task"], bundle)
        in_use = frozenset({bundle.sha256, *(served.bundle_sha for served in self._served.values())})
        await loop.run_in_executor(self._loading, self._bundles.prune, in_use)
        return Served(wanted.model_id, wanted.alias, wanted.version, bundle.sha256, predictor)

    def _twin(self, wanted: _Wanted) -> Served | None:
        """The same version under another alias: two aliases share one predictor."""
        same = (wanted.model_id, wanted.version)
        return next((served for served in self._served.values() if (served.model_id, served.version) == same), None)

    async def _failed(self, wanted: _Wanted, failure: Failure) -> None:
        log.error("%s version %d: %s: %s", wanted.place, wanted.version, failure.code, failure.sentence)
        if self._set_back(wanted) > 1:
            return  # said once; it is tried again quietly, for a blob may be restored
        await self._announce(
            ModelDeployFailed(
                project_id=wanted.project_id,
                model_id=wanted.model_id,
                alias=wanted.alias,
                version=wanted.version,
                gateway=self._gateway,
                failure=failure,
            )
        )

    def _set_back(self, wanted: _Wanted) -> int:
        before = self._setbacks.get(wanted.place)
        attempts = before.attempts + 1 if before is not None and before.version == wanted.version else 1
        pause = min(RETRY_MOST_S, RETRY_FIRST_S * 2 ** (attempts - 1))
        again_at = self._deps.clock.monotonic() + pause
        self._setbacks[wanted.place] = _Setback(wanted.version, attempts, again_at)
        return attempts

    def _deployed(self, wanted: _Wanted, seconds: float) -> ModelDeployed:
        log.info("%s answers from version %d, loaded in %.2f s", wanted.place, wanted.version, seconds)
        return ModelDeployed(
            project_id=wanted.project_id,
            model_id=wanted.model_id,
            alias=wanted.alias,
            version=wanted.version,
            gateway=self._gateway,
            load_seconds=seconds,
        )

    async def _announce(self, event: Event) -> None:
        try:
            async with self._deps.unit_of_work() as tx:
                tx.emit(event)
        except (ServerUnavailable, WriteConflict, DuplicateDocument) as error:
            log.warning("%s is announced later: %s", event.TYPE, error)
            self._unannounced.append(event)

    async def _announce_late(self) -> None:
        late, self._unannounced = self._unannounced, []
        for event in late:
            await self._announce(event)


def _wanted(row: Mapping[str, Any]) -> _Wanted:
    return _Wanted(row["model_id"], row["alias"], int(row["version"]), row.get("project_id", DEFAULT_PROJECT))


def _failure(wanted: _Wanted, error: Exception) -> Failure:
    if isinstance(error, LearningError | PermanentError):
        return Failure(code=error.code, sentence=error.sentence)
    sentence = f"Version {wanted.version} of {wanted.model_id} could not be loaded: {type(error).__name__}: {error}"
    return Failure(code="load_failed", sentence=sentence)
