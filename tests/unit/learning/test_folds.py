"""Folds keep pictures alike together and classes even."""

import numpy as np

from learning.image_classification.folds import grouped_folds, look_alikes


def shots(things: int, each: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    """Features of `each` shots of every thing, one thing after the other."""
    random = np.random.default_rng(seed)
    centres = np.repeat(random.normal(size=(things, 32)), each, axis=0)
    return (centres + 0.02 * random.normal(size=centres.shape)).astype(np.float16)


def test_the_shots_of_a_thing_are_in_one_fold() -> None:
    fold_of = grouped_folds(shots(12, 6), np.zeros(72, np.int64), 4)
    assert all(len(set(fold_of[start : start + 6])) == 1 for start in range(0, 72, 6))


def test_every_class_is_spread_evenly() -> None:
    targets = np.repeat([0, 1, 2], [96, 48, 9])
    fold_of = grouped_folds(np.random.default_rng(0).normal(size=(153, 32)).astype(np.float16), targets, 4)
    for label, least in ((0, 12), (1, 5), (2, 1)):
        assert np.bincount(fold_of[targets == label], minlength=4).min() >= least


def test_a_class_of_few_pictures_is_dealt_out_one_by_one() -> None:
    assert len(set(look_alikes(shots(1, 5).astype(np.float32), 4))) == 5
    assert sorted(np.bincount(grouped_folds(shots(1, 5), np.zeros(5, np.int64), 4))) == [1, 1, 1, 2]


def test_classes_of_one_picture_do_not_all_go_to_the_same_fold() -> None:
    assert len(set(grouped_folds(shots(4, 1), np.arange(4), 4))) == 4


def test_folds_are_always_the_same() -> None:
    features, targets = shots(20, 7), np.arange(140) % 3
    assert (grouped_folds(features, targets, 4) == grouped_folds(features, targets, 4)).all()


def test_no_samples_have_no_folds() -> None:
    assert len(grouped_folds(np.zeros((0, 8), np.float16), np.zeros(0, np.int64), 4)) == 0


def test_pictures_without_any_feature_are_no_hindrance() -> None:
    assert len(grouped_folds(np.zeros((50, 8), np.float16), np.zeros(50, np.int64), 4)) == 50
