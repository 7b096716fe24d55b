"""Which side a sample is on: train, validation or test.

The side follows from the content alone, so it stays for good when samples are added, and two imports of
the same file agree. 80 % train, 10 % validation, 10 % test: the final model is fitted on train + validation, so
a larger test side costs accuracy and a larger validation side only makes the search a little surer.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["train", "validation", "test"]

TEST_SHARE = 0.10
VALIDATION_SHARE = 0.10
_MINIMUM: dict[Side, int] = {"test": 3, "validation": 5}  # samples a class needs before one of them is held out
_MOST_HELD_OUT = 0.2  # of a class, for one kind of near duplicates


def split_side(sha: str) -> Side:
    """The side of a sample with this hexadecimal SHA-256, before tiny classes are looked after."""
    position = _position(sha)
    if position < TEST_SHARE:
        return "test"
    return "validation" if position < TEST_SHARE + VALIDATION_SHARE else "train"


@dataclass(frozen=True)
class Ties:
    """What near duplicates ask for. `kinds` names for a sample the first of its kind (its hash), with which it moves;
    `sides` binds a sample to the side of one that is fixed.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    sides: Mapping[str, Side] = field(default_factory=dict)


NO_TIES = Ties()


def assign_sides(
    samples: Sequence[tuple[str, str]], known: Mapping[str, Side] | None = None, ties: Ties = NO_TIES
) -> dict[str, Side]:
    """Sides for all (sha, label) pairs of a version; the order of the samples does not matter.

    `known` sides are kept whatever happens. For the rest `split_side` decides, a kind by its first, but in classes too
    small for chance: each class keeps at least one sample to train on, one to test on when it has three, one to
    validate on when it has five; where nothing else is left, a tie is broken for it. A kind that makes up much of its
    class is trained on. A sha with several labels counts in the class of its first pair.
    """
    fixed = dict(known or {})
    by_class: dict[str, list[str]] = defaultdict(list)
    sides: dict[str, Side] = {}
    for sha, label in samples:
        if sha not in sides:
            sides[sha] = fixed.get(sha) or ties.sides.get(sha) or split_side(ties.kinds.get(sha, sha))
            by_class[label].append(sha)
    free = {sha for sha in sides if sha not in fixed}
    kinds = _kinds(sides, free, ties)
    _train_on_large_kinds(kinds, by_class, sides)
    for _, members in sorted(by_class.items()):
        _look_after_small_class(sorted(members, key=_position), sides, free, kinds)
    return sides


def _kinds(sides: Mapping[str, Side], free: set[str], ties: Ties) -> dict[str, list[str]]:
    """The members of each kind that nothing binds, by its first; a sample without near duplicates is a kind."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for sha in sides:
        if sha in free and sha not in ties.sides:
            kinds[ties.kinds.get(sha, sha)].append(sha)
    return kinds


def _train_on_large_kinds(
    kinds: Mapping[str, list[str]], by_class: Mapping[str, list[str]], sides: dict[str, Side]
) -> None:
    size = {sha: len(members) for members in by_class.values() for sha in members}
    for members in kinds.values():
        if len(members) > 1 and len(members) > _MOST_HELD_OUT * min(size[sha] for sha in members):
            sides.update(dict.fromkeys(members, "train"))


def _look_after_small_class(
    members: list[str], sides: dict[str, Side], free: set[str], kinds: Mapping[str, list[str]]
) -> None:
    """`members` in the order of their positions, those nearest to the test side first."""
    inside = set(members)
    whole = [kind for first in members if (kind := kinds.get(first)) and inside.issuperset(kind)]
    whole.sort(key=len)  # stable: by position where they are alike
    loose = [sha for sha in members if sha in free]
    _ensure("test", members, whole, loose, sides)
    _ensure("validation", members, whole, loose, sides)
    if loose and not any(sides[sha] == "train" for sha in members):
        sides[loose[-1]] = "train"


def _ensure(side: Side, members: list[str], whole: list[list[str]], loose: list[str], sides: dict[str, Side]) -> None:
    if len(members) < _MINIMUM[side] or any(sides[sha] == side for sha in members):
        return
    most = max(1.0, _MOST_HELD_OUT * len(members))
    kind = next((kind for kind in whole if len(kind) <= most and all(sides[sha] == "train" for sha in kind)), None)
    if kind is None:
        kind = [sha for sha in loose if sides[sha] == "train"][:1]
    sides.update(dict.fromkeys(kind, side))


def _position(sha: str) -> float:
    """Where in [0, 1) the hash lies; uniform over contents."""
    return int(sha[:12], 16) / 16**12
