"""Aliases that move, back and forth and at the same time, and policies of models."""

import asyncio

import pytest

from chassis.deps import Deps
from chassis.records import Repository
from schemas.base import Event
from schemas.deletion import ModelDeleteRequested, ModelVersionDeleteRequested
from schemas.publishing import AliasRollbackRequested, ModelPolicyChanged, PolicySetRequested, PublishPolicy
from schemas.requests import AliasMoveRequested
from schemas.run import ModelVersionRegistered
from services.registry.handlers import HANDLERS
from services.registry.records import Model, ModelVersion, Run
from services.registry.run_log import automatic_run_id
from tests.builders import build_deps, dispatcher, emitted, record_of
from tests.unit.registry.building import (
    DATASET,
    MODEL,
    an_evaluation,
    deliver,
    history,
    production,
    run_through,
    versions_in_production,
)


@pytest.fixture
def deps() -> Deps:
    return build_deps("registry")


def a_move(version: int, reason: str = "", alias: str = "production") -> AliasMoveRequested:
    return AliasMoveRequested(model_id=MODEL, alias=alias, version=version, reason=reason, actor="ann")


def a_rollback(from_version: int, reason: str = "", alias: str = "production") -> AliasRollbackRequested:
    return AliasRollbackRequested(model_id=MODEL, alias=alias, from_version=from_version, reason=reason, actor="bob")


async def apply(deps: Deps, *events: Event) -> None:
    """Each as a request of its own, also where two look the same."""
    for event in events:
        await dispatcher(deps, HANDLERS).deliver(record_of(event))


async def test_rolling_back_goes_to_the_version_before_the_last_move_and_says_who_and_why(deps: Deps) -> None:
    await versions_in_production(deps, 3)
    await apply(deps, a_rollback(3, "misses cracks"))
    assert await production(deps) == 2
    last = (await history(deps))[-1]
    assert (last.previous_version, last.version, last.actor, last.reason) == (3, 2, "bob", "misses cracks")


async def test_a_rollback_of_a_rollback_returns_to_where_it_was(deps: Deps) -> None:
    await versions_in_production(deps, 2)
    await apply(deps, a_rollback(2), a_rollback(1))
    assert await production(deps) == 2
    assert [move.reason for move in await history(deps)][-2:] == [
        "rolled back from version 2",
        "rolled back from version 1",
    ]


async def test_going_back_after_a_move_by_hand_over_several_versions(deps: Deps) -> None:
    await versions_in_production(deps, 3)
    await apply(deps, a_move(1), a_rollback(1))
    assert await production(deps) == 3


async def test_two_people_who_roll_back_at_the_same_time_go_back_once(deps: Deps) -> None:
    await versions_in_production(deps, 3)
    await asyncio.gather(*(apply(deps, a_rollback(3)) for _ in range(2)))
    assert await production(deps) == 2
    assert len(await history(deps)) == 4


async def test_a_rollback_asked_for_before_another_move_does_nothing(deps: Deps) -> None:
    await versions_in_production(deps, 3)
    await apply(deps, a_move(1), a_rollback(3))
    assert await production(deps) == 1


@pytest.mark.parametrize("kind", ["first", "unknown alias", "deleted"])
async def test_where_there_is_nothing_to_go_back_to_nothing_happens(deps: Deps, kind: str) -> None:
    await versions_in_production(deps, 1 if kind == "first" else 2)
    if kind == "deleted":
        await deliver(deps, ModelVersionDeleteRequested(deletion_id="del_1", model_id=MODEL, version=1))
    before = await history(deps)
    rollback = {"first": a_rollback(1), "unknown alias": a_rollback(2, alias="beta"), "deleted": a_rollback(2)}[kind]
    await apply(deps, rollback)
    assert await history(deps) == before


async def test_each_alias_goes_back_along_its_own_history(deps: Deps) -> None:
    await versions_in_production(deps, 2)
    await apply(deps, a_move(2, alias="beta"), a_move(1, alias="beta"), a_rollback(1, alias="beta"))
    assert [move.version for move in await history(deps) if move.alias == "beta"] == [2, 1, 2]
    assert await production(deps) == 2


async def test_moves_at_the_same_time_make_one_unbroken_history(deps: Deps) -> None:
    await versions_in_production(deps, 3)
    await asyncio.gather(*(apply(deps, a_move(version)) for version in (1, 2, 1, 2)))
    moves = await history(deps)
    assert [move.previous_version for move in moves[1:]] == [move.version for move in moves[:-1]]
    assert await production(deps) == moves[-1].version


async def test_a_model_that_came_back_has_nothing_of_its_former_life_to_go_back_to(deps: Deps) -> None:
    await versions_in_production(deps, 2)
    await apply(deps, PolicySetRequested(model_id=MODEL, policy=PublishPolicy(publish="always")))
    await deliver(deps, ModelDeleteRequested(deletion_id="del_1", model_id=MODEL))
    await run_through(deps, 3, an_evaluation(automatic_run_id(DATASET, 3), 0.9))
    await apply(deps, a_rollback(3))
    assert await production(deps) == 3
    model = await Repository(deps.database, Model).get(MODEL)
    assert model is not None
    assert model.policy == PublishPolicy()


async def test_a_policy_is_announced_once_and_decides_the_next_version(deps: Deps) -> None:
    await versions_in_production(deps, 1)
    policy = PublishPolicy(min_gain=0.05)
    asked = PolicySetRequested(model_id=MODEL, policy=policy, actor="ann")
    await apply(deps, asked, asked)
    changes = [event for event in await emitted(deps) if isinstance(event, ModelPolicyChanged)]
    assert [(one.policy, one.previous, one.actor) for one in changes] == [(policy, PublishPolicy(), "ann")]
    await run_through(deps, 2, an_evaluation(automatic_run_id(DATASET, 2), 0.92, (1, 0.9)))
    assert await production(deps) == 1


async def test_a_policy_of_no_model_is_nothing(deps: Deps) -> None:
    await apply(deps, PolicySetRequested(model_id=MODEL, policy=PublishPolicy(publish="never")))
    assert (await emitted(deps), await Repository(deps.database, Model).find({})) == ([], [])


async def test_why_a_version_was_not_published_is_kept_with_version_run_and_event(deps: Deps) -> None:
    await versions_in_production(deps, 1)
    await run_through(deps, 2, an_evaluation(automatic_run_id(DATASET, 2), 0.85, (1, 0.9)))
    version = await Repository(deps.database, ModelVersion).get(f"{MODEL}/2")
    run = await Repository(deps.database, Run).get(automatic_run_id(DATASET, 2))
    [told] = [
        event for event in await emitted(deps) if isinstance(event, ModelVersionRegistered) and event.version == 2
    ]
    assert version is not None
    assert version.publication is not None
    assert (version.publication.published, version.publication.reason) == (
        False,
        "accuracy 0.8500 against 0.9000 of version 1 on the same samples",
    )
    assert run is not None
    assert run.publication == told.publication == version.publication
