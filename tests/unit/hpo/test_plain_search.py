"""Trials without Ray: one after the other, the failing ones left out, and an end to it."""

import pytest

from learning.study import Candidate, Stage, TrialOutcome
from services.hpo.plain_search import PlainSearch
from services.hpo.search import StageOrder
from tests.fake_task import FakeFeatures, FakeTask

FEATURES = FakeFeatures(("a", "b"))


def an_order(*candidates: Candidate, limit_s: float = 60, needs_finalist: bool = True) -> StageOrder:
    stage = Stage("heads", "A test.", {}, candidates, 4, 1, 3, 1, 1.0)
    return StageOrder("fake", stage, dict(enumerate(candidates)), 7, limit_s, needs_finalist)


def outcomes_of(order: StageOrder) -> list[TrialOutcome]:
    told: list[TrialOutcome] = []
    search = PlainSearch(lambda name: FakeTask())
    search.warm_up(2)
    outcomes = search.run(order, FEATURES, lambda outcome, count: told.append(outcome))
    search.close()
    assert told == outcomes
    return outcomes


def test_every_candidate_comes_to_its_last_epoch_and_a_failing_one_is_left_out() -> None:
    outcomes = outcomes_of(an_order({"accuracy": 0.5}, {"fails": True}, {"accuracy": 0.9}))
    assert [(each.number, each.epoch, each.accuracy) for each in outcomes] == [(0, 4, 0.5), (2, 4, 0.9)]
    assert (outcomes[0].judged, outcomes[0].temperature) == (1000, 2.0)


@pytest.mark.parametrize(("needs_finalist", "epochs"), [(True, 4), (False, 1)])
def test_when_time_is_over_a_trial_ends_unless_the_study_has_no_other(needs_finalist: bool, epochs: int) -> None:
    (outcome,) = outcomes_of(an_order({"accuracy": 0.5}, limit_s=-1, needs_finalist=needs_finalist))
    assert outcome.epoch == epochs
