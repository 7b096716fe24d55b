"""The table of run states."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from schemas.run import RunState
from services.registry.transitions import ENDED, allowed

STATES: tuple[RunState, ...] = get_args(RunState)


@given(st.lists(st.sampled_from(STATES), max_size=30))
def test_whatever_is_asked_a_run_ends_at_most_once_and_never_leaves_its_end(asked: list[RunState]) -> None:
    state: RunState = "requested"
    ends = 0
    for following in asked:
        if allowed(state, following):
            assert state not in ENDED
            state = following
            ends += state in ENDED
    assert ends <= 1


def test_every_state_but_the_first_can_be_reached() -> None:
    assert {after for before in STATES for after in STATES if allowed(before, after)} == set(STATES) - {"requested"}


def test_a_registering_run_can_no_longer_be_cancelled() -> None:
    assert not allowed("registering", "cancelled")
