"""Which side a sample is on: train, validation or test.

The side follows from the content alone, so it stays for good when samples are added, and two imports of
the same file agree. 80 % train, 10 % validation, 10 % test: the final model is fitted on train + validation, so
a larger test side costs accuracy and a larger validation side only makes the search a little surer.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["train", "validation", "test"]

TEST_SHARE = 0.10
VALIDATION_SHARE = 0.10
_MIN_FOR_TEST = 3  # samples a class needs before one of them is held out for the test
_MIN_FOR_VALIDATION = 5


def split_side(sha: str) -> Side:
    """The side of a sample with this hexadecimal SHA-256, before tiny classes are looked after."""
    position = _position(sha)
    if position < TEST_SHARE:
        return "test"
    return "validation" if position < TEST_SHARE + VALIDATION_SHARE else "train"


def assign_sides(samples: Sequence[tuple[str, str]], known: Mapping[str, Side] | None = None) -> dict[str, Side]:
    """Sides for all (sha, label) pairs of a version; the order of the samples does not matter.

    `known` sides are kept whatever happens. For the rest `split_side` decides, but in classes too small
    for chance: each class keeps at least one sample to train on, one to test on when it has three, one to validate
    on when it has five. A sha with several labels counts in the class of its first pair.
    """
    fixed = dict(known or {})
    by_class: dict[str, list[str]] = defaultdict(list)
    sides: dict[str, Side] = {}
    for sha, label in samples:
        if sha not in sides:
            sides[sha] = fixed.get(sha, split_side(sha))
            by_class[label].append(sha)
    for members in by_class.values():
        _look_after_small_class(sorted(members, key=_position), sides, frozenset(fixed))
    return sides


def _look_after_small_class(members: list[str], sides: dict[str, Side], fixed: frozenset[str]) -> None:
    """`members` in the order of their positions, those nearest to the test side first."""
    free = [sha for sha in members if sha not in fixed]
    _ensure("test", members, free, sides, _MIN_FOR_TEST)
    _ensure("validation", members, free, sides, _MIN_FOR_VALIDATION)
    if free and not any(sides[sha] == "train" for sha in members):
        sides[free[-1]] = "train"


def _ensure(side: Side, members: list[str], free: list[str], sides: dict[str, Side], minimum: int) -> None:
    if len(members) < minimum or any(sides[sha] == side for sha in members):
        return
    movable = [sha for sha in free if sides[sha] == "train"]
    if movable:
        sides[movable[0]] = side


def _position(sha: str) -> float:
    """Where in [0, 1) the hash lies; uniform over contents."""
    return int(sha[:12], 16) / 16**12
