"""Heads learn, judge themselves honestly, and resume exactly."""

import numpy as np
import pytest

from learning.errors import PlanImpossibleError
from learning.image_classification.features import ImageFeatures
from learning.image_classification.head_weights import HEAD_KINDS
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.training import is_too_small, run_fit, run_trial, stratified_folds

CLASSES = ("a", "b", "c")


def made(count: int, noise: float, seed: int, views: int = 2) -> ImageFeatures:
    """Three clouds in 16 dimensions, further apart the smaller the noise."""
    random = np.random.default_rng(seed)
    targets = np.arange(count) % 3
    centres = np.random.default_rng(99).normal(size=(3, 16))
    values = centres[targets] + noise * random.normal(size=(views, count, 16))
    shas = tuple(f"{seed:02x}{i:062x}" for i in range(count))
    return ImageFeatures(values.astype(np.float16), targets, shas, CLASSES, {})


EMPTY = made(3, 1, 0).subset([])


@pytest.mark.parametrize("head", HEAD_KINDS)
def test_each_head_learns_what_can_be_learnt(head: str) -> None:
    reports = list(run_trial({"head": head}, 12, 0, made(300, 0.3, 1), made(90, 0.3, 2), "cpu"))
    assert [report.epoch for report in reports] == list(range(1, 13))
    assert reports[-1].accuracy > 0.97
    assert reports[-1].loss < 0.2


def test_validation_without_pattern_is_judged_as_chance() -> None:
    random = np.random.default_rng(0)
    good = made(120, 0.3, 2)
    shuffled = ImageFeatures(good.values, random.permutation(good.targets), good.shas, CLASSES, {})
    *_, last = run_trial({"head": "linear"}, 8, 0, made(300, 0.3, 1), shuffled, "cpu")
    assert last.accuracy < 0.55


@pytest.mark.parametrize("validation", [EMPTY, made(6, 3.0, 2)])
def test_a_small_validation_is_replaced_by_cross_validation(validation: ImageFeatures) -> None:
    assert is_too_small(validation)
    *_, last = run_trial({"head": "linear"}, 8, 0, made(60, 0.3, 1), validation, "cpu")
    assert last.accuracy > 0.85


def test_a_candidate_may_ask_for_cross_validation() -> None:
    shuffled = made(120, 0.3, 2)
    wrong = ImageFeatures(shuffled.values, (shuffled.targets + 1) % 3, shuffled.shas, CLASSES, {})
    *_, by_validation = run_trial({"head": "linear"}, 4, 0, made(300, 0.3, 1), wrong, "cpu")
    *_, by_folds = run_trial({"head": "linear", "folds": 3}, 4, 0, made(300, 0.3, 1), wrong, "cpu")
    assert by_validation.accuracy < 0.1
    assert by_folds.accuracy > 0.5


def test_cross_validation_judges_samples_by_models_that_have_not_seen_them() -> None:
    noise_only = made(60, 0.0, 1)
    random = np.random.default_rng(0)
    values = random.normal(size=noise_only.values.shape).astype(np.float16)
    unlearnable = ImageFeatures(values, noise_only.targets, noise_only.shas, CLASSES, {})
    *_, last = run_trial({"head": "mlp"}, 15, 0, unlearnable, EMPTY, "cpu")
    assert last.accuracy < 0.6


def test_two_classes_of_five_are_enough() -> None:
    train = made(30, 0.3, 1).subset([sha for i, sha in enumerate(made(30, 0.3, 1).shas) if i % 3 < 2][:10])
    *_, last = run_trial({"head": "cosine"}, 10, 0, train, EMPTY, "cpu")
    assert last.accuracy >= 0.8


def test_folds_deal_every_sample_once_and_every_class_evenly() -> None:
    targets = np.array([0] * 9 + [1] * 4 + [2])
    folds = stratified_folds(targets, 4)
    assert sorted(np.concatenate(folds).tolist()) == list(range(14))
    assert all((targets[fold] == 0).sum() in (2, 3) and (targets[fold] == 1).sum() == 1 for fold in folds)


def test_folds_without_samples_are_left_out() -> None:
    assert len(stratified_folds(np.array([0, 1]), 4)) == 2


@pytest.mark.parametrize("head", HEAD_KINDS)
def test_a_resumed_fit_ends_where_an_unbroken_one_does(head: str) -> None:
    data = made(70, 0.5, 1)
    steps = list(run_fit({"head": head}, 9, 3, data, None, "cpu"))
    resumed = list(run_fit({"head": head}, 9, 3, data, steps[2].checkpoint, "cpu"))
    assert [step.epoch for step in resumed] == [step.epoch for step in steps[3:]]
    whole, broken = (model_from_bytes(each[-1].model).head for each in (steps, resumed))
    for name, array in whole.arrays.items():
        assert np.allclose(array, broken.arrays[name], atol=1e-6), name


def test_only_the_last_step_holds_the_model() -> None:
    steps = list(run_fit({"head": "linear"}, 8, 0, made(30, 0.5, 1), None, "cpu"))
    assert [bool(step.model) for step in steps] == [False] * 7 + [True]
    assert steps[-1].fraction == 1.0


def test_the_seed_decides() -> None:
    def fitted(seed: int) -> bytes:
        *_, last = run_fit({"head": "mlp"}, 2, seed, made(60, 0.5, 1), None, "cpu")
        return last.model

    assert fitted(1) == fitted(1) != fitted(2)


def test_without_mirror_the_mirrored_views_are_neither_trained_on_nor_judged_by() -> None:
    data, held_out = made(90, 0.3, 1), made(90, 0.3, 2)
    for features in (data, held_out):
        features.values[1] = -features.values[0]
    *_, plain = run_trial({"head": "linear", "mirror": False}, 12, 0, data, held_out, "cpu")
    assert plain.accuracy > 0.95
    *_, last = run_fit({"head": "linear", "mirror": False}, 2, 0, data, None, "cpu")
    assert not model_from_bytes(last.model).head.is_mirrored


def test_rare_classes_weigh_more_when_balanced() -> None:
    many = made(600, 1.2, 1)
    rare = [sha for sha, target in zip(many.shas, many.targets, strict=True) if target < 2]
    uneven = many.subset([*rare, *[s for s, t in zip(many.shas, many.targets, strict=True) if t == 2][:6]])
    held_out = made(300, 1.2, 2)

    def recall(balance: bool) -> float:
        *_, last = run_fit({"head": "linear", "balance": balance}, 15, 0, uneven, None, "cpu")
        predicted = model_from_bytes(last.model).head.logits_of_views(held_out.values).argmax(axis=1)
        return float((predicted[held_out.targets == 2] == 2).mean())

    assert recall(True) > recall(False)


def test_nothing_to_train_on_is_said() -> None:
    with pytest.raises(PlanImpossibleError):
        list(run_fit({}, 3, 0, EMPTY, None, "cpu"))
