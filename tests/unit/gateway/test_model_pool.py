"""Loading what the aliases name, and swapping it under load."""

import asyncio
import io
import threading
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from learning.errors import ArtefactInvalidError
from learning.task import Prediction, Predictor
from schemas.run import Budget, ModelAliasChanged, RunStarted
from schemas.serving import ModelDeployed, ModelDeployFailed
from services.gateway.bundles import SPARE_FOLDERS
from services.gateway.handlers import HANDLERS
from services.gateway.model_pool import RETRY_FIRST_S
from tests.builders import a_blob, delivered, emitted
from tests.unit.gateway.building import FakePredictor, Gateway, load_fake

ADDRESS = "/v1/models/mdl_1/predict"


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


async def test_what_an_alias_names_is_loaded_once_and_announced(gateway: Gateway) -> None:
    await gateway.has_model(1)
    await gateway.models.refresh()
    await gateway.models.refresh()
    served = gateway.models.find("mdl_1", "production")
    assert served is not None
    assert (served.version, served.threshold) == (1, 0.5)
    assert isinstance(served.predictor, FakePredictor)
    assert served.predictor.is_warm
    [event] = await emitted(gateway.deps)
    assert isinstance(event, ModelDeployed)
    assert (event.model_id, event.alias, event.version, event.gateway) == ("mdl_1", "production", 1, "gw-1")


async def test_two_aliases_share_one_predictor_and_one_that_is_gone_is_let_go(gateway: Gateway) -> None:
    await gateway.has_model(1)
    await gateway.has_alias(1, "staging")
    await gateway.models.refresh()
    production, staging = gateway.models.find("mdl_1", "production"), gateway.models.find("mdl_1", "staging")
    assert production is not None
    assert staging is not None
    assert production.predictor is staging.predictor
    await gateway.registry.delete("aliases", "mdl_1/staging")
    await gateway.models.refresh()
    assert gateway.models.find("mdl_1", "staging") is None


async def test_requests_in_flight_end_on_the_old_version_and_none_fails(tmp_path: Path) -> None:
    class Slow(FakePredictor):
        def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
            time.sleep(0.002)
            return super().predict(contents)

    def load(task: str, folder: Path) -> Predictor:
        loaded = load_fake(task, folder)
        assert isinstance(loaded, FakePredictor)
        return Slow(loaded.version)

    gateway = Gateway(tmp_path, load=load)
    await gateway.has_model(1)
    await gateway.models.refresh()
    answers: list[tuple[int, str]] = []
    stop = asyncio.Event()

    async def ask() -> None:
        async with gateway.client() as client:
            while not stop.is_set():
                answer = await client.post(ADDRESS, files={"file": ("a.jpg", b"1")})
                assert answer.status_code == 200
                body = answer.json()
                answers.append((body["version"], body["predictions"][0]["results"][0]["name"]))

    askers = [asyncio.create_task(ask()) for _ in range(4)]
    for version in range(2, 8):
        await gateway.has_model(version)
        await gateway.models.refresh()
        seen = len(answers)
        while len(answers) < seen + 4:
            await asyncio.sleep(0)
    stop.set()
    await asyncio.gather(*askers)
    assert all(name == f"v{version}" for version, name in answers)
    assert answers[-1][0] == 7


async def test_predictions_go_on_while_a_version_is_being_loaded(tmp_path: Path) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def load(task: str, folder: Path) -> Predictor:
        loaded = load_fake(task, folder)
        assert isinstance(loaded, FakePredictor)
        if loaded.version == "v2":
            loading.set()
            go_on.wait(10)
        return loaded

    gateway = Gateway(tmp_path, load=load)
    await gateway.has_model(1)
    await gateway.models.refresh()
    await gateway.has_model(2)
    refreshing = asyncio.create_task(gateway.models.refresh())
    assert await asyncio.to_thread(loading.wait, 10)
    async with gateway.client() as client:
        during = (await client.post(ADDRESS, files={"file": b"1"})).json()["version"]
        go_on.set()
        await refreshing
        after = (await client.post(ADDRESS, files={"file": b"1"})).json()["version"]
    assert (during, after) == (1, 2)


@pytest.mark.parametrize("fault", ["invalid", "lost", "not a zip"])
async def test_a_version_that_cannot_be_loaded_changes_nothing_and_is_announced_once(
    tmp_path: Path, fault: str
) -> None:
    refuse = {"v2"} if fault == "invalid" else set()

    def load(task: str, folder: Path) -> Predictor:
        loaded = load_fake(task, folder)
        assert isinstance(loaded, FakePredictor)
        if loaded.version in refuse:
            raise ArtefactInvalidError("bundle_invalid", "The bundle is damaged; train again.")
        return loaded

    gateway = Gateway(tmp_path, load=load)
    await gateway.has_model(1)
    await gateway.models.refresh()
    bundle = await gateway.has_model(2)
    whole = gateway.blobs.objects[bundle.key]
    if fault == "lost":
        del gateway.blobs.objects[bundle.key]
    if fault == "not a zip":
        gateway.blobs.objects[bundle.key] = b"x" * bundle.size
    for _ in range(3):
        await gateway.models.refresh()
        gateway.deps.clock.advance(RETRY_FIRST_S * 8)  # type: ignore[attr-defined]  # the fake clock
    served = gateway.models.find("mdl_1", "production")
    assert served is not None
    assert served.version == 1
    failures = [event for event in await emitted(gateway.deps) if isinstance(event, ModelDeployFailed)]
    assert [failure.version for failure in failures] == [2]
    assert failures[0].failure.sentence

    refuse.clear()
    gateway.blobs.objects[bundle.key] = whole
    gateway.deps.clock.advance(1000)  # type: ignore[attr-defined]  # the fake clock
    await gateway.models.refresh()
    served = gateway.models.find("mdl_1", "production")
    assert served is not None
    assert served.version == 2


async def test_a_bundle_cannot_write_outside_its_folder(gateway: Gateway) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("../escaped", "x")
    ref = gateway.blobs.put("prj_default", archive.getvalue(), "application/zip")
    await gateway.has_model(1)
    await gateway.registry.update("model_versions", "mdl_1/1", {"bundle": ref.model_dump()})
    await gateway.models.refresh()
    [event] = await emitted(gateway.deps)
    assert isinstance(event, ModelDeployFailed)
    assert event.failure.code == "bundle_invalid"
    assert not (gateway.folder / "escaped").exists()


async def test_a_store_that_is_away_is_no_fault_of_the_version(gateway: Gateway) -> None:
    await gateway.has_model(1)
    gateway.blobs.answering = False
    await gateway.models.refresh()
    assert await emitted(gateway.deps) == []
    gateway.blobs.answering = True
    gateway.deps.clock.advance(RETRY_FIRST_S)  # type: ignore[attr-defined]  # the fake clock
    await gateway.models.refresh()
    assert gateway.models.find("mdl_1", "production") is not None


async def test_news_of_an_alias_is_followed_without_waiting_for_the_next_look(gateway: Gateway) -> None:
    turning = asyncio.create_task(gateway.models.turn())
    await gateway.has_model(1)
    moved = ModelAliasChanged(
        model_id="mdl_1", alias="production", version=1, previous_version=None, reason="", actor="policy"
    )
    await HANDLERS[ModelAliasChanged](delivered(moved), gateway.deps)
    await asyncio.wait_for(turning, 2)  # a look comes each 5 s
    await gateway.models.refresh()
    assert gateway.models.find("mdl_1", "production") is not None


async def test_the_runtime_is_loaded_while_the_run_is_under_way(gateway: Gateway) -> None:
    budget = Budget(preset="fast", seconds=60, deadline=gateway.deps.clock.now())
    started = RunStarted(
        run_id="run_1", dataset_id="ds_1", version=1, model_id="mdl_1", task="image_classification",
        manifest=a_blob(), budget=budget, seed=1,
    )  # fmt: skip
    for run_id in ("run_1", "run_2"):
        await HANDLERS[RunStarted](delivered(started.model_copy(update={"run_id": run_id})), gateway.deps)
        await gateway.models.refresh()
    assert gateway.prepared_tasks == ["image_classification"]


async def test_only_a_few_unused_bundles_stay_on_disk(gateway: Gateway) -> None:
    for version in range(1, 10):
        await gateway.has_model(version)
        await gateway.models.refresh()
    kept = [place for place in (gateway.folder / "models").iterdir() if place.is_dir()]
    assert len(kept) <= SPARE_FOLDERS + 2  # the one in use, and the one it replaced a moment ago
