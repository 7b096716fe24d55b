"""A run is cancelled from every state that its table allows, and from no other."""

from typing import get_args

import pytest

from chassis.records import Repository
from schemas.requests import RunCancelRequested
from schemas.run import RunEnded, RunStageChanged, RunState
from services.registry.handlers import HANDLERS
from services.registry.records import Run
from services.registry.transitions import allowed
from tests.builders import build_deps, dispatcher, emitted, record_of


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("state", get_args(RunState))
async def test_cancelling_ends_a_run_once_or_changes_nothing(state: RunState, times: int) -> None:
    deps = build_deps("registry")
    run = Run(
        id="run_1",
        dataset_id="ds_1",
        version=1,
        model_id="mdl_1",
        preset="fast",
        seed=1,
        trigger="request",
        state=state,
        stage_times={state: deps.clock.now()},
        created_at=deps.clock.now(),
    )
    await Repository(deps.database, Run).add(run)
    for _ in range(times):
        await dispatcher(deps, HANDLERS).deliver(record_of(RunCancelRequested(run_id="run_1")))
    found = await Repository(deps.database, Run).get("run_1")
    assert found is not None
    if allowed(state, "cancelled"):
        assert found.state == "cancelled"
        assert [type(event) for event in await emitted(deps)] == [RunStageChanged, RunEnded]
    else:
        assert found == run
        assert await emitted(deps) == []
