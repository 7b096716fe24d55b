"""Deleting models and their versions, and what becomes of runs whose data others deleted."""

import pytest

from chassis.deps import Deps
from chassis.records import Repository
from schemas.deletion import (
    DatasetDeleted,
    DatasetVersionDeleted,
    ModelDeleted,
    ModelDeleteRefused,
    ModelDeleteRequested,
    ModelVersionDeleted,
    ModelVersionDeleteRequested,
)
from schemas.requests import AliasMoveRequested, RunRequested
from services.deletion_outcomes import DeletionOutcome
from services.registry.records import Alias, AliasMove, Model, ModelVersion, Run
from services.registry.run_log import automatic_run_id
from tests.builders import build_deps, emitted
from tests.unit.registry.building import (
    DATASET,
    MODEL,
    a_ready_version,
    an_evaluation,
    deliver,
    production,
    run_through,
    the_run,
)


async def two_versions() -> Deps:
    """A model with two versions, the second in production."""
    deps = build_deps("registry")
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    await run_through(deps, 2, an_evaluation(automatic_run_id(DATASET, 2), 0.95, (1, 0.9)))
    assert await production(deps) == 2
    return deps


async def outcome(deps: Deps, deletion_id: str = "del_1") -> DeletionOutcome:
    found = await Repository(deps.database, DeletionOutcome).get(deletion_id)
    assert found is not None
    return found


@pytest.mark.parametrize("times", [1, 2])
async def test_a_model_goes_with_its_versions_and_aliases(times: int) -> None:
    deps = await two_versions()
    await deliver(deps, ModelDeleteRequested(deletion_id="del_1", model_id=MODEL, actor="ann"), times=times)
    assert await Repository(deps.database, ModelVersion).find({}) == []
    assert await Repository(deps.database, Alias).find({}) == []
    assert len(await Repository(deps.database, AliasMove).find({})) == 2, "the history stays"
    deleted = [event for event in await emitted(deps) if isinstance(event, ModelDeleted)]
    assert deleted == [ModelDeleted(deletion_id="del_1", model_id=MODEL, actor="ann")]
    assert ((await outcome(deps)).status, (await outcome(deps)).actor) == ("done", "ann")


async def test_version_numbers_go_on_after_a_model_was_deleted() -> None:
    deps = await two_versions()
    await deliver(deps, ModelDeleteRequested(deletion_id="del_1", model_id=MODEL))
    await run_through(deps, 3, an_evaluation(automatic_run_id(DATASET, 3), 0.8))
    model = await Repository(deps.database, Model).get(MODEL)
    assert model is not None
    assert (model.last_version, model.deleted_at) == (3, None)
    assert await production(deps) == 3


async def test_a_version_number_is_never_given_twice() -> None:
    deps = await two_versions()
    await deliver(deps, AliasMoveRequested(model_id=MODEL, alias="production", version=1))
    await deliver(deps, ModelVersionDeleteRequested(deletion_id="del_1", model_id=MODEL, version=2))
    await run_through(deps, 3, an_evaluation(automatic_run_id(DATASET, 3), 0.99, (1, 0.9)))
    numbers = sorted(one.version for one in await Repository(deps.database, ModelVersion).find({}))
    assert numbers == [1, 3]
    assert ModelVersionDeleted(deletion_id="del_1", model_id=MODEL, version=2) in await emitted(deps)


async def test_a_version_that_an_alias_names_stays_and_the_caller_can_see_why() -> None:
    deps = await two_versions()
    await deliver(deps, ModelVersionDeleteRequested(deletion_id="del_1", model_id=MODEL, version=2))
    assert await Repository(deps.database, ModelVersion).get(f"{MODEL}/2") is not None
    refused = (await emitted(deps))[-1]
    assert isinstance(refused, ModelDeleteRefused)
    assert (refused.version, refused.failure.code) == (2, "alias_names_version")
    assert "production" in refused.failure.sentence
    assert ((await outcome(deps)).status, (await outcome(deps)).failure) == ("refused", refused.failure)


async def test_an_alias_that_moved_meanwhile_decides() -> None:
    deps = await two_versions()
    await deliver(
        deps,
        AliasMoveRequested(model_id=MODEL, alias="production", version=1),
        ModelVersionDeleteRequested(deletion_id="del_1", model_id=MODEL, version=1),
        ModelVersionDeleteRequested(deletion_id="del_2", model_id=MODEL, version=2),
        AliasMoveRequested(model_id=MODEL, alias="production", version=2),
    )
    assert ((await outcome(deps)).status, (await outcome(deps, "del_2")).status) == ("refused", "done")
    assert await production(deps) == 1


async def test_a_model_that_a_run_is_about_to_add_to_stays() -> None:
    deps = await two_versions()
    await deliver(deps, a_ready_version(3), ModelDeleteRequested(deletion_id="del_1", model_id=MODEL))
    found = (await outcome(deps)).failure
    assert found is not None
    assert found.code == "run_under_way"
    assert automatic_run_id(DATASET, 3) in found.sentence


@pytest.mark.parametrize("version", [1, 9])
async def test_deleting_what_is_not_there(version: int) -> None:
    deps = build_deps("registry")
    await deliver(deps, ModelVersionDeleteRequested(deletion_id="del_1", model_id=MODEL, version=version))
    await deliver(deps, ModelDeleteRequested(deletion_id="del_2", model_id=MODEL))
    for deletion_id in ("del_1", "del_2"):
        found = await outcome(deps, deletion_id)
        assert found.failure is not None
        assert found.failure.code == "model_unknown"


GONE = DatasetDeleted(deletion_id="del_1", dataset_id=DATASET)
ONE_GONE = DatasetVersionDeleted(deletion_id="del_1", dataset_id=DATASET, version=1)


@pytest.mark.parametrize(("event", "code"), [(GONE, "dataset_deleted"), (ONE_GONE, "version_deleted")])
async def test_a_run_whose_data_was_deleted_meanwhile_ends_with_that_reason(
    event: DatasetDeleted | DatasetVersionDeleted, code: str
) -> None:
    deps = build_deps("registry")
    early = RunRequested(run_id="run_1", dataset_id=DATASET, version=1)
    late = RunRequested(run_id="run_2", dataset_id=DATASET, version=1)
    await deliver(deps, early, event, late)
    for run_id in ("run_1", "run_2"):
        run = await the_run(deps, run_id)
        assert run.failure is not None
        assert (run.state, run.failure.code) == ("failed", code)


async def test_a_version_that_is_ready_after_its_data_set_was_deleted_starts_nothing() -> None:
    deps = build_deps("registry")
    await deliver(deps, RunRequested(run_id="run_1", dataset_id=DATASET, version=2), GONE, a_ready_version(2))
    assert [run.id for run in await Repository(deps.database, Run).find({})] == ["run_1"]
    assert (await the_run(deps, "run_1")).state == "failed"


async def test_models_stay_when_their_data_set_is_deleted() -> None:
    deps = await two_versions()
    await deliver(deps, GONE)
    assert len(await Repository(deps.database, ModelVersion).find({})) == 2
    assert await production(deps) == 2
