"""Stages fit the budget, follow from the state alone, and offer candidates that the training understands."""

import dataclasses
import json
import re

import numpy as np
import pytest

from learning.errors import PlanImpossibleError
from learning.image_classification.candidates import head_parameters, is_tail, tail_parameters
from learning.image_classification.costs import Costs, map_bytes
from learning.image_classification.planning import next_stage
from learning.search_space import draw, kind_of
from learning.study import Candidate, End, Json, Stage, StageResult, StudyState, TrialOutcome

QUICK: Json = {"view_s": 0.005, "gflops": 150.0, "cores": 2}
BUDGETS = {"fast": 120.0, "balanced": 300.0, "accurate": 1800.0}


def a_state(preset: str, samples: int = 2000, budget: float | None = None, speeds: Json = QUICK) -> StudyState:
    return StudyState(preset, budget or BUDGETS[preset], 0, samples, 20, speeds)


def stage_of(state: StudyState) -> Stage:
    stage = next_stage(state)
    assert isinstance(stage, Stage), stage
    return stage


def after(state: StudyState, accuracy: float = 0.9, elapsed: float | None = None, **found: object) -> StudyState:
    """The state when the next stage is over, its first candidate having come out best."""
    stage = stage_of(state)
    candidate: Candidate = {**stage.candidates[0], **found}
    outcome = TrialOutcome(0, candidate, stage.epochs, accuracy, 1 - accuracy, 1.0, 0.5, 500)
    seconds = state.elapsed_seconds + stage.expected_seconds if elapsed is None else elapsed
    done = state.with_result(StageResult(stage, (outcome,), is_over=True))
    return dataclasses.replace(done, elapsed_seconds=seconds)


def test_a_fast_study_is_three_heads_and_no_more() -> None:
    stage = stage_of(a_state("fast"))
    assert (stage.recipe["views"], stage.recipe["maps"], len(stage.candidates)) == (2, None, 3)
    assert isinstance(next_stage(after(a_state("fast"))), End)


def test_a_balanced_study_fine_tunes_what_its_heads_were_found_on() -> None:
    state = after(a_state("balanced"), mirror=False, balance=True)
    stage = stage_of(state)
    assert stage.recipe == state.results[0].stage.recipe
    (candidate,) = stage.candidates
    assert candidate["tail"] == stage.recipe["maps"] == "6.2"
    assert (candidate["mirror"], candidate["balance"]) == (False, True)
    assert stage.epochs >= 3
    assert isinstance(next_stage(after(state, 0.95)), End)


def test_an_accurate_study_goes_on_to_a_larger_backbone() -> None:
    state = after(after(a_state("accurate")), 0.95)
    stage = stage_of(state)
    assert stage.recipe["backbone"] == "efficientnet-lite2"
    assert isinstance(next_stage(after(state, 0.96)), End)


def test_a_stage_without_gain_is_the_last() -> None:
    end = next_stage(after(after(a_state("accurate"), 0.95), 0.8))
    assert isinstance(end, End)
    assert "no gain" in end.why


def test_nothing_follows_where_every_judged_picture_was_told_right() -> None:
    end = next_stage(after(a_state("accurate"), 1.0))
    assert isinstance(end, End)
    assert "nothing more can be gained" in end.why


def test_a_study_whose_heads_all_failed_ends() -> None:
    state = a_state("balanced")
    assert isinstance(next_stage(state.with_result(StageResult(stage_of(state), is_over=True))), End)


def test_a_late_study_leaves_time_for_the_fit() -> None:
    early, late = (after(a_state("balanced"), elapsed=seconds) for seconds in (40.0, 100.0))
    assert stage_of(early).epochs >= stage_of(late).epochs
    end = next_stage(after(a_state("balanced"), elapsed=250.0))
    assert isinstance(end, End)
    assert "no time left" in end.why


def test_a_slower_machine_is_asked_for_less() -> None:
    slow: Json = {"view_s": 0.02, "gflops": 20.0, "cores": 2}
    least, more = (stage_of(a_state("accurate", 20_000, speeds=speeds)) for speeds in (slow, QUICK))
    assert least.recipe["views"] < more.recipe["views"]
    assert isinstance(next_stage(after(a_state("balanced", speeds=slow))), End)


@pytest.mark.parametrize("preset", BUDGETS)
def test_a_smaller_budget_never_plans_more(preset: str) -> None:
    stages = [stage_of(a_state(preset, budget=budget)) for budget in (30, 60, 120, 600, 3600)]
    work = [(stage.recipe["views"], len(stage.candidates)) for stage in stages]
    assert work == sorted(work)


def test_presets_do_more_work_in_order() -> None:
    fast, balanced, accurate = (stage_of(a_state(preset, 500, 1e6)) for preset in BUDGETS)
    assert fast.recipe["views"] <= balanced.recipe["views"] < accurate.recipe["views"]
    assert len(fast.candidates) <= len(balanced.candidates) < len(accurate.candidates)


def test_the_least_plan_still_has_the_mirror_image_and_all_starts() -> None:
    stage = stage_of(a_state("accurate", samples=200_000, budget=1.0))
    assert (stage.recipe["views"], len(stage.candidates)) == (2, 3)


@pytest.mark.parametrize("samples", [10, 2_000, 20_000, 60_000])
def test_maps_never_outgrow_the_disk(samples: int) -> None:
    recipe = stage_of(a_state("accurate", samples, 1e6)).recipe
    if recipe["maps"]:
        assert map_bytes(recipe["backbone"], recipe["maps"], samples, recipe["views"]) <= 1.5e9


def test_too_many_pictures_for_maps_are_left_to_the_heads() -> None:
    state = a_state("balanced", 200_000, 1e6)
    assert stage_of(state).recipe["maps"] is None
    assert isinstance(next_stage(after(state)), End)


@pytest.mark.parametrize(("samples", "judged"), [(100, 4), (2000, 1)])
def test_few_samples_are_all_judged(samples: int, judged: int) -> None:
    assert all(each["judged_folds"] == judged for each in stage_of(a_state("fast", samples)).candidates)


def test_equal_states_have_equal_stages_and_the_recipe_ignores_the_seed() -> None:
    state = a_state("accurate", budget=1e6)
    assert next_stage(state) == next_stage(StudyState.from_json(json.loads(json.dumps(state.to_json()))))
    other = stage_of(dataclasses.replace(state, seed=1))
    assert other.recipe == stage_of(state).recipe
    assert other.candidates != stage_of(state).candidates


@pytest.mark.parametrize(("preset", "samples", "code"), [("quick", 10, "preset_unknown"), ("fast", 0, "no_samples")])
def test_impossible_plans_are_refused(preset: str, samples: int, code: str) -> None:
    with pytest.raises(PlanImpossibleError) as caught:
        next_stage(a_state(preset, samples, 60.0))
    assert caught.value.code == code


def test_every_candidate_can_be_trained() -> None:
    state = a_state("accurate", budget=1e6)
    heads, tails = stage_of(state), stage_of(after(state))
    for candidate in heads.candidates:
        parameters = head_parameters(json.loads(json.dumps(candidate)))
        assert 0 < parameters.learning_rate < 0.02
        assert 0 <= parameters.dropout < 0.6
        assert not is_tail(candidate)
    for candidate in tails.candidates:
        assert is_tail(candidate)
        assert 0 < tail_parameters(json.loads(json.dumps(candidate))).learning_rate < 0.01


def test_a_proven_head_is_not_searched_for_again() -> None:
    proven = {**stage_of(a_state("fast")).candidates[2], "head": "linear"}
    state = dataclasses.replace(a_state("fast", 2050), earlier={"candidate": proven, "sample_count": 2000})
    stage = stage_of(state)
    (candidate,) = stage.candidates
    assert candidate == proven
    assert "2000" in stage.why
    assert stage.recipe == stage_of(a_state("fast", 2050)).recipe


@pytest.mark.parametrize(
    "changes",
    [
        {"sample_count": 2500},
        {"space": {"trials": 3, "parameters": {"dropout": 0.1}}},
        {"earlier": {"candidate": {"tail": "6.2"}, "sample_count": 2000}},
    ],
)
def test_heads_are_searched_again_where_much_is_new(changes: Json) -> None:
    earlier = {"candidate": stage_of(a_state("fast")).candidates[0], "sample_count": 2000}
    state = dataclasses.replace(a_state("fast"), **{"earlier": earlier, **changes})
    assert len(stage_of(state).candidates) == 3


def test_an_experts_space_replaces_the_presets_heads() -> None:
    space = {"trials": 5, "parameters": {"head": {"choice": ["linear", "cosine"]}, "dropout": {"uniform": [0.1, 0.2]}}}
    stage = stage_of(dataclasses.replace(a_state("balanced"), space=space))
    assert len(stage.candidates) == 5
    assert {each["head"] for each in stage.candidates} <= {"linear", "cosine"}
    assert all(0.1 <= each["dropout"] < 0.2 for each in stage.candidates)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"dropuot": 0.1}, "no parameter dropuot; there are: balance, decay_factor, dropout"),
        ({"dropout": {"uniform": [1, 2]}}, "give a number from 0 to 0.95"),
        ({"dropout": True}, "dropout is True"),
        ({"mirror": 1}, "give true or false"),
        ({"head": {"choice": ["tree"]}}, "no head 'tree'"),
    ],
)
def test_an_experts_mistake_is_told_before_anything_is_trained(parameters: Json, told: str) -> None:
    state = dataclasses.replace(a_state("fast"), space={"trials": 2, "parameters": parameters})
    with pytest.raises(PlanImpossibleError, match=re.escape(told)):
        next_stage(state)


def test_costs_grow_with_the_work() -> None:
    costs = Costs.of(QUICK)
    assert costs.features("efficientnet-lite2", 100, 4) > costs.features("efficientnet-lite0", 100, 4)
    assert costs.tail_epoch("efficientnet-lite0", "6.1", 100) > costs.tail_epoch("efficientnet-lite0", "7.1", 100)
    assert Costs.of({}).view_s > costs.view_s


def test_an_unknown_head_is_refused_by_name() -> None:
    with pytest.raises(PlanImpossibleError, match="transformer"):
        head_parameters({"head": "transformer"})


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"choice": [1]}, "choice"),
        ({"uniform": [0, 1]}, "uniform"),
        ({"loguniform": [1, 2]}, "loguniform"),
        (3, "constant"),
        ({"other": 1}, "constant"),
    ],
)
def test_kinds_of_parameters(entry: object, kind: str) -> None:
    assert kind_of(entry) == kind


def test_draws_stay_within_their_ranges_and_follow_the_seed() -> None:
    space = {"a": {"choice": ["x", "y"]}, "b": {"loguniform": [1e-3, 1e-1]}, "c": 7}
    drawn = [draw(space, np.random.default_rng(seed)) for seed in range(40)]
    assert {each["a"] for each in drawn} == {"x", "y"}
    assert all(1e-3 <= each["b"] <= 1e-1 and each["c"] == 7 for each in drawn)
    assert 5 < sum(each["b"] < 1e-2 for each in drawn) < 35
    assert drawn[0] == draw(space, np.random.default_rng(0))


def test_no_choices_is_an_error() -> None:
    with pytest.raises(PlanImpossibleError):
        draw({"a": {"choice": []}}, np.random.default_rng(0))
