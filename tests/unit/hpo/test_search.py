"""The limits of a search."""

from datetime import timedelta

import pytest

from services.hpo.search import MIN_SEARCH_S, search_limit
from tests.stage_builders import BUDGET


def test_the_search_leaves_the_later_stages_their_share_of_the_budget() -> None:
    at_start = BUDGET.deadline - timedelta(seconds=BUDGET.seconds)
    assert search_limit(BUDGET, at_start) == pytest.approx(70)
    assert search_limit(BUDGET, at_start + timedelta(seconds=30)) == pytest.approx(40)


def test_a_study_that_began_after_its_deadline_still_tries_something() -> None:
    assert search_limit(BUDGET, BUDGET.deadline + timedelta(hours=1)) == MIN_SEARCH_S
