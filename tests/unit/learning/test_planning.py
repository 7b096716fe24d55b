"""Plans fit their budget, travel as JSON and offer candidates that the training understands."""

import json

import numpy as np
import pytest

from learning.errors import PlanImpossibleError
from learning.image_classification.candidates import head_parameters
from learning.image_classification.planning import STUDY_SHARE, plan_study
from learning.search_space import draw, kind_of
from learning.task import StudyPlan


def test_a_plan_survives_json() -> None:
    plan = plan_study(600, "balanced", 1000, 5, seed=3)
    assert StudyPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize("preset", ["fast", "balanced", "accurate"])
def test_a_smaller_budget_never_plans_more(preset: str) -> None:
    plans = [plan_study(budget, preset, 2000, 20, 0) for budget in (30, 60, 120, 600, 3600)]
    work = [(plan.recipe["views"], plan.trials) for plan in plans]
    assert work == sorted(work)
    assert plans[-1].expected_seconds <= 3600 * STUDY_SHARE


def test_presets_do_more_work_in_order() -> None:
    fast, balanced, accurate = (plan_study(1e6, preset, 500, 3, 0) for preset in ("fast", "balanced", "accurate"))
    assert fast.space["folds"] == 0 < balanced.space["folds"]
    assert fast.recipe["views"] < balanced.recipe["views"] < accurate.recipe["views"]
    assert fast.trials < balanced.trials < accurate.trials


def test_the_least_plan_still_has_the_mirror_image_and_all_starts() -> None:
    plan = plan_study(1, "accurate", 100_000, 50, 0)
    assert (plan.recipe["views"], plan.trials) == (2, len(plan.starts))


@pytest.mark.parametrize(("preset", "samples", "code"), [("quick", 10, "preset_unknown"), ("fast", 0, "no_samples")])
def test_impossible_plans_are_refused(preset: str, samples: int, code: str) -> None:
    with pytest.raises(PlanImpossibleError) as caught:
        plan_study(60, preset, samples, 2, 0)
    assert caught.value.code == code


def test_every_candidate_can_be_trained() -> None:
    plan = plan_study(600, "accurate", 1000, 5, seed=0)
    random = np.random.default_rng(0)
    for candidate in [*plan.starts, *(draw(plan.space, random) for _ in range(50))]:
        assert set(candidate) == set(plan.space)
        parameters = head_parameters(json.loads(json.dumps(candidate)))
        assert 0 < parameters.learning_rate < 0.02
        assert 0 <= parameters.dropout < 0.6


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
