"""Runs, versions and aliases, whatever arrives, in whatever order, however often."""

import pytest

from chassis.records import Repository
from schemas.base import Failure
from schemas.dataset import DatasetVersionRejected
from schemas.deadletter import EventDeadLettered
from schemas.learning import StudyFailed
from schemas.requests import AliasMoveRequested, RunCancelRequested, RunRequested
from schemas.run import ModelAliasChanged, ModelVersionRegistered, RunEnded, RunStageChanged, RunStarted
from schemas.search import SearchSpace, Uniform
from services.registry.handlers import HANDLERS
from services.registry.records import AliasMove, ModelVersion, Run
from services.registry.run_log import automatic_run_id
from tests.builders import build_deps, dispatcher, emitted, record_of
from tests.unit.registry.building import (
    DATASET,
    MODEL,
    a_ready_version,
    a_study,
    a_trained_model,
    an_evaluation,
    deliver,
    production,
    run_through,
    the_run,
)

FAILURE = Failure(code="only_one_class", sentence="tiles.zip holds one class; add another.")


@pytest.mark.parametrize("times", [1, 2])
async def test_a_ready_version_starts_one_run_however_often_delivered(times: int) -> None:
    deps = build_deps("registry")
    await deliver(deps, a_ready_version(), times=times)
    events = await emitted(deps)
    assert [type(event) for event in events] == [RunStageChanged, RunStarted]
    started = events[1]
    assert isinstance(started, RunStarted)
    assert (started.run_id, started.model_id) == (automatic_run_id(DATASET, 1), MODEL)


async def test_the_same_version_announced_by_another_event_starts_no_second_run() -> None:
    deps = build_deps("registry")
    for event_id in ("evt_a", "evt_b"):
        await dispatcher(deps, HANDLERS).deliver(record_of(a_ready_version(), event_id=event_id))
    assert len(await Repository(deps.database, Run).find({})) == 1


async def test_a_data_set_that_does_not_train_by_itself_starts_nothing() -> None:
    deps = build_deps("registry")
    await deliver(deps, a_ready_version(auto_train="off"))
    assert await emitted(deps) == []


async def test_a_run_asked_for_early_waits_for_its_version() -> None:
    deps = build_deps("registry")
    asked = RunRequested(run_id="run_1", dataset_id=DATASET, version=1)
    await deliver(deps, asked)
    assert (await the_run(deps, "run_1")).state == "waiting_data"
    await deliver(deps, a_ready_version(auto_train="off"))
    assert (await the_run(deps, "run_1")).state == "searching"


async def test_what_an_expert_wants_tried_reaches_the_study() -> None:
    deps = build_deps("registry")
    space = SearchSpace(trials=3, parameters={"dropout": Uniform(uniform=(0, 0.5))})
    await deliver(
        deps,
        a_ready_version(auto_train="off"),
        RunRequested(run_id="run_1", dataset_id=DATASET, version=1, space=space),
    )
    (started,) = [event for event in await emitted(deps) if isinstance(event, RunStarted)]
    assert started.space == space


async def test_a_run_on_a_rejected_version_fails_with_the_reason() -> None:
    deps = build_deps("registry")
    rejected = DatasetVersionRejected(dataset_id=DATASET, version=1, failure=FAILURE)
    early, late = (RunRequested(run_id=run_id, dataset_id=DATASET, version=1) for run_id in ("run_1", "run_2"))
    await deliver(deps, early, rejected, late)
    for run_id in ("run_1", "run_2"):
        run = await the_run(deps, run_id)
        assert (run.state, run.failure) == ("failed", FAILURE)


@pytest.mark.parametrize("times", [1, 2])
async def test_an_evaluated_model_becomes_one_version_and_the_first_goes_to_production(times: int) -> None:
    deps = build_deps("registry")
    run_id = automatic_run_id(DATASET, 1)
    events = (a_ready_version(), a_study(run_id), a_trained_model(run_id), an_evaluation(run_id, 0.9))
    await deliver(deps, *events, times=times)
    assert len(await Repository(deps.database, ModelVersion).find({})) == 1
    assert await production(deps) == 1
    run = await the_run(deps, run_id)
    assert (run.state, run.model_version) == ("succeeded", 1)
    assert list(run.stage_times) == ["requested", "searching", "training", "evaluating", "registering", "succeeded"]
    kinds = [type(event) for event in await emitted(deps)]
    assert kinds[-1] is RunEnded
    assert kinds.count(ModelVersionRegistered) == kinds.count(ModelAliasChanged) == 1


@pytest.mark.parametrize(
    ("accuracy", "baseline", "expected"),
    [(0.95, (1, 0.90), 2), (0.90, (1, 0.90), 2), (0.85, (1, 0.90), 1), (0.95, None, 1)],
)
async def test_a_later_version_is_promoted_when_not_worse_on_the_same_samples(
    accuracy: float, baseline: tuple[int, float] | None, expected: int
) -> None:
    deps = build_deps("registry")
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    await run_through(deps, 2, an_evaluation(automatic_run_id(DATASET, 2), accuracy, baseline))
    assert len(await Repository(deps.database, ModelVersion).find({})) == 2
    assert await production(deps) == expected


async def test_a_cancelled_run_gives_no_version_whatever_still_arrives() -> None:
    deps = build_deps("registry")
    run_id = automatic_run_id(DATASET, 1)
    await deliver(deps, a_ready_version(), RunCancelRequested(run_id=run_id))
    await deliver(deps, a_study(run_id), a_trained_model(run_id), an_evaluation(run_id, 0.9))
    assert (await the_run(deps, run_id)).state == "cancelled"
    assert await Repository(deps.database, ModelVersion).find({}) == []


async def test_cancelling_an_ended_run_changes_nothing() -> None:
    deps = build_deps("registry")
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    before = await emitted(deps)
    await deliver(deps, RunCancelRequested(run_id=automatic_run_id(DATASET, 1)))
    assert await emitted(deps) == before


@pytest.mark.parametrize("kind", ["failed event", "dead letter"])
async def test_a_stage_that_gives_up_ends_the_run_with_its_reason(kind: str) -> None:
    deps = build_deps("registry")
    run_id = automatic_run_id(DATASET, 1)
    letter = EventDeadLettered(
        service="hpo",
        event_id="evt_1",
        event_type="easyloop.run.started.v1",
        event_key=run_id,
        topic="registry.events",
        partition=0,
        offset=1,
        attempts=6,
        failure=FAILURE,
    )
    event = StudyFailed(run_id=run_id, failure=FAILURE) if kind == "failed event" else letter
    await deliver(deps, a_ready_version(), event)
    run = await the_run(deps, run_id)
    assert (run.state, run.failure) == ("failed", FAILURE)
    assert isinstance((await emitted(deps))[-1], RunEnded)


async def test_rolling_back_is_one_request_and_is_written_down() -> None:
    deps = build_deps("registry")
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    await run_through(deps, 2, an_evaluation(automatic_run_id(DATASET, 2), 0.95, (1, 0.9)))
    back = AliasMoveRequested(model_id=MODEL, alias="production", version=1, reason="misses cracks", actor="ann")
    await deliver(deps, back)
    assert await production(deps) == 1
    moves = sorted(await Repository(deps.database, AliasMove).find({"model_id": MODEL}), key=lambda move: move.id)
    story = [(move.previous_version, move.version, move.actor) for move in moves]
    assert story == [(None, 1, "policy"), (1, 2, "policy"), (2, 1, "ann")]


async def test_an_alias_never_names_a_version_that_does_not_exist() -> None:
    deps = build_deps("registry")
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    await deliver(deps, AliasMoveRequested(model_id=MODEL, alias="production", version=7))
    assert await production(deps) == 1
