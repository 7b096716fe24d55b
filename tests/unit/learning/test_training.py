"""Heads learn, judge themselves honestly, and resume exactly."""

import numpy as np
import pytest

from learning.errors import PlanImpossibleError
from learning.image_classification.features import ImageFeatures
from learning.image_classification.head_weights import HEAD_KINDS
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.training import run_fit, run_trial

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
    reports = list(run_trial({"head": head}, 12, 0, made(390, 0.3, 1), "cpu"))
    assert [report.epoch for report in reports] == list(range(1, 13))
    assert reports[-1].accuracy > 0.97
    assert reports[-1].loss < 0.2
    assert reports[-1].judged == 390


def test_labels_without_pattern_are_judged_as_chance() -> None:
    random = np.random.default_rng(0)
    good = made(120, 0.3, 2)
    shuffled = ImageFeatures(good.values, random.permutation(good.targets), good.shas, CLASSES, {})
    *_, last = run_trial({"head": "linear"}, 8, 0, shuffled, "cpu")
    assert last.accuracy < 0.55


def test_samples_are_judged_by_models_that_have_not_seen_them() -> None:
    noise_only = made(60, 0.0, 1)
    values = np.random.default_rng(0).normal(size=noise_only.values.shape).astype(np.float16)
    unlearnable = ImageFeatures(values, noise_only.targets, noise_only.shas, CLASSES, {})
    *_, last = run_trial({"head": "mlp"}, 15, 0, unlearnable, "cpu")
    assert last.accuracy < 0.6


def test_pictures_that_look_alike_do_not_vouch_for_each_other() -> None:
    """Six shots of each of twenty things, whose classes cannot be learnt: only a twin gives a picture away."""
    random = np.random.default_rng(0)
    things = np.repeat(random.normal(size=(20, 16)), 6, axis=0) + 0.01 * random.normal(size=(120, 16))
    values = np.stack([things, things]).astype(np.float16)
    shas = tuple(f"{i:064x}" for i in range(120))
    features = ImageFeatures(values, np.repeat(np.arange(20) % 2, 6), shas, CLASSES[:2], {})
    *_, last = run_trial({"head": "mlp"}, 15, 0, features, "cpu")
    assert last.accuracy < 0.75


def test_few_judged_folds_cost_less_and_judge_fewer() -> None:
    *_, last = run_trial({"head": "linear", "folds": 4, "judged_folds": 1}, 4, 0, made(120, 0.3, 1), "cpu")
    assert 26 <= last.judged <= 34


def test_two_classes_of_five_are_enough() -> None:
    data = made(30, 0.3, 1).subset([sha for i, sha in enumerate(made(30, 0.3, 1).shas) if i % 3 < 2][:10])
    *_, last = run_trial({"head": "cosine"}, 10, 0, data, "cpu")
    assert last.accuracy >= 0.8


@pytest.mark.parametrize("count", [0, 1])
def test_what_cannot_be_judged_is_refused(count: int) -> None:
    with pytest.raises(PlanImpossibleError):
        list(run_trial({"head": "linear"}, 2, 0, made(3, 0.3, 1).subset(made(3, 0.3, 1).shas[:count]), "cpu"))


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
    data = made(180, 0.3, 1)
    data.values[1] = -data.values[0]
    *_, plain = run_trial({"head": "linear", "mirror": False}, 12, 0, data, "cpu")
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
