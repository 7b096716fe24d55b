"""The choice of a winner, and a study's state as JSON."""

import json
from math import inf, nan

import pytest

from learning.study import Choice, Stage, StageResult, StudyState, TrialOutcome, choose

JUDGED = 400


def an_outcome(number: int, accuracy: float, loss: float = 1.0, epoch: int = 10, judged: int = JUDGED) -> TrialOutcome:
    return TrialOutcome(number, {"n": number}, epoch, accuracy, loss, 1.0, 0.5, judged)


def a_stage(name: str = "heads") -> Stage:
    return Stage(name, "Why not.", {"views": 2}, ({"n": 0}, {"n": 1}), 10, 2, 3, 1, 5.0)


def a_result(*outcomes: TrialOutcome, name: str = "heads") -> StageResult:
    return StageResult(a_stage(name), outcomes, 1.0, 2.0, is_over=True)


def chosen(*outcomes: TrialOutcome) -> int:
    choice = choose([a_result(*outcomes)])
    assert choice is not None
    return choice.outcome.number


def test_the_best_accuracy_wins_where_it_is_far_ahead() -> None:
    assert chosen(an_outcome(0, 0.7, 0.1), an_outcome(1, 0.9, 0.5), an_outcome(2, 0.8, 0.1)) == 1


def test_accuracies_within_a_standard_error_are_told_apart_by_loss_then_by_order() -> None:
    assert chosen(an_outcome(0, 0.9, 0.5), an_outcome(1, 0.905, 0.6), an_outcome(2, 0.895, 0.4)) == 2
    assert chosen(an_outcome(1, 0.9), an_outcome(0, 0.9)) == 1


def test_the_fewer_were_judged_the_less_a_lead_counts() -> None:
    few = [an_outcome(0, 0.92, 0.5, judged=20), an_outcome(1, 0.95, 0.6, judged=20)]
    many = [an_outcome(0, 0.92, 0.5, judged=5000), an_outcome(1, 0.95, 0.6, judged=5000)]
    assert (chosen(*few), chosen(*many)) == (0, 1)


def test_a_trial_that_was_stopped_early_does_not_beat_one_that_came_to_the_end() -> None:
    assert chosen(an_outcome(0, 0.95, 0.1, epoch=3), an_outcome(1, 0.7, epoch=10)) == 1


def test_where_time_left_no_finalist_the_furthest_count() -> None:
    assert chosen(an_outcome(0, 0.95, epoch=3), an_outcome(1, 0.7, epoch=5)) == 1


@pytest.mark.parametrize(("accuracy", "loss"), [(0.99, nan), (nan, 0.1), (0.99, inf)])
def test_a_training_that_ran_away_never_wins(accuracy: float, loss: float) -> None:
    assert choose([a_result(an_outcome(0, accuracy, loss))]) is None
    assert chosen(an_outcome(0, accuracy, loss), an_outcome(1, 0.2)) == 1


def test_a_later_stage_wins_by_its_figures_and_says_why() -> None:
    choice = choose([a_result(an_outcome(0, 0.9, 0.5)), a_result(an_outcome(0, 0.96, 0.2), name="tail")])
    assert isinstance(choice, Choice)
    assert choice.stage.name == "tail"
    assert "0.9600" in choice.why


def test_a_state_survives_json() -> None:
    state = StudyState("balanced", 300.0, 7, 100, 5, {"view_s": 0.01}, 12.5, (a_result(an_outcome(0, 0.9)),))
    assert StudyState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_a_result_replaces_that_of_its_own_stage_only() -> None:
    state = StudyState("fast", 60.0, 0, 10, 2, {}).with_result(a_result()).with_result(a_result(an_outcome(0, 0.5)))
    assert [len(result.outcomes) for result in state.results] == [1]
    assert len(state.with_result(a_result(name="tail")).results) == 2
