"""Which samples a candidate is judged on: folds that keep pictures alike together.

Photographs are seldom independent: several show the same thing in the same light. Dealt out one by one, the judged ones
have a twin among the trained ones, and every candidate seems perfect. So the pictures of a class are first sorted into
groups of those that look alike (to the backbone), and whole groups are dealt out.
"""

import numpy as np
from numpy.typing import NDArray

_GROUP = 6  # pictures, on average
_MOST_GROUPS = 32  # of a class: beyond, larger groups do as well
_ROUNDS = 6


def grouped_folds(features: NDArray[np.float16], targets: NDArray[np.int64], folds: int) -> NDArray[np.int64]:
    """The fold, 0 to folds - 1, of each sample; features float [N, D]. Deterministic.

    Every class is spread over the folds as evenly as its groups allow; a class with fewer than two pictures a fold is
    dealt out one by one.
    """
    fold_of = np.zeros(len(targets), np.int64)
    for label in np.unique(targets):
        rows = np.flatnonzero(targets == label)
        groups = look_alikes(features[rows].astype(np.float32), folds)
        fold_of[rows] = _dealt(groups, folds, int(label))
    return fold_of


def look_alikes(features: NDArray[np.float32], least: int) -> NDArray[np.int64]:
    """The group of each sample of one class, by k-means of directions; at least `least` groups, else each alone."""
    count = min(_MOST_GROUPS, -(-len(features) // _GROUP))
    if count < least:
        return np.arange(len(features)) if len(features) < 2 * least else _k_means(features, least)
    return _k_means(features, count)


def _k_means(features: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    directions = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    centres = directions[np.linspace(0, len(directions) - 1, count).astype(np.int64)]
    nearest = np.zeros(len(directions), np.int64)
    for _ in range(_ROUNDS):
        nearest = (directions @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, directions)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return nearest


def _dealt(groups: NDArray[np.int64], folds: int, turn: int) -> NDArray[np.int64]:
    """Large groups first, each to the fold that has least so far; `turn` varies which is the first."""
    fold_of = np.zeros(len(groups), np.int64)
    held = np.zeros(folds)
    held += (np.arange(folds) + turn) % folds * 1e-3
    sizes = np.bincount(groups)
    for group in np.argsort(-sizes, kind="stable"):
        if sizes[group]:
            fold = int(held.argmin())
            fold_of[groups == group] = fold
            held[fold] += sizes[group]
    return fold_of
