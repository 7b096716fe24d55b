"""The limits of a search and the choice of its winner."""

from datetime import timedelta
from math import inf, nan

import pytest

from services.hpo.search import MIN_SEARCH_S, TrialOutcome, choose_winner, search_limit
from tests.stage_builders import BUDGET


def an_outcome(number: int, accuracy: float, loss: float = 1.0, epoch: int = 10) -> TrialOutcome:
    return TrialOutcome(number, {"n": number}, epoch, accuracy, loss, 1.0, 0.5)


def test_the_best_accuracy_wins() -> None:
    winner = choose_winner([an_outcome(0, 0.7), an_outcome(1, 0.9), an_outcome(2, 0.8)])
    assert winner is not None
    assert winner.number == 1


def test_equal_accuracies_are_told_apart_by_loss_then_by_order() -> None:
    by_loss = choose_winner([an_outcome(0, 0.9, loss=0.5), an_outcome(1, 0.9, loss=0.4)])
    by_order = choose_winner([an_outcome(1, 0.9), an_outcome(0, 0.9)])
    assert by_loss is not None
    assert by_order is not None
    assert (by_loss.number, by_order.number) == (1, 0)


def test_a_trial_that_was_stopped_early_does_not_beat_one_that_came_to_the_end() -> None:
    winner = choose_winner([an_outcome(0, 0.95, epoch=3), an_outcome(1, 0.9, epoch=10)])
    assert winner is not None
    assert winner.number == 1


@pytest.mark.parametrize(("accuracy", "loss"), [(0.99, nan), (nan, 0.1), (0.99, inf)])
def test_a_training_that_ran_away_never_wins(accuracy: float, loss: float) -> None:
    assert choose_winner([an_outcome(0, accuracy, loss)]) is None
    winner = choose_winner([an_outcome(0, accuracy, loss), an_outcome(1, 0.2)])
    assert winner is not None
    assert winner.number == 1


def test_the_search_leaves_the_later_stages_their_share_of_the_budget() -> None:
    at_start = BUDGET.deadline - timedelta(seconds=BUDGET.seconds)
    assert search_limit(BUDGET, at_start) == pytest.approx(70)
    assert search_limit(BUDGET, at_start + timedelta(seconds=30)) == pytest.approx(40)


def test_a_study_that_began_after_its_deadline_still_tries_something() -> None:
    assert search_limit(BUDGET, BUDGET.deadline + timedelta(hours=1)) == MIN_SEARCH_S
