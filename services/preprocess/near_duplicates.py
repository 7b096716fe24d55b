"""Near duplicates: pictures that differ by scale, compression or a few frames of a burst. Pure.

All are kept; they share a side, so that no model is tested on what it was trained on. A new one joins the side of the
first of its kind, one that would join two sides is trained on, and samples of earlier versions stay where they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chassis.manifests import Sample
from learning.fingerprints import NEAR_BITS
from learning.split import Side, Ties, split_side
from learning.task import Finding

_BANDS = NEAR_BITS + 1  # two hashes that differ in 4 bits agree in at least one of 5 bands
_WINDOW = 256  # neighbours looked at within a band; only thousands of almost equal pictures have more
_BIT_COUNTS = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)
_NAMED = 5

Hashes = NDArray[np.uint64]


@dataclass
class _Kind:
    """Fingerprints that share a side; `is_fixed` when an earlier version decided it."""

    first: str
    side: Side
    is_fixed: bool = False
    _joined_to: "_Kind | None" = None

    def whole(self) -> "_Kind":
        """The kind that this one has become part of."""
        kind = self
        while kind._joined_to is not None:
            kind = kind._joined_to
        return kind

    def join(self, other: "_Kind") -> None:
        """From now on they move together."""
        if self is not other:
            self._joined_to = other


@dataclass
class NearDuplicates:
    """How the sides of a version are tied, and what is said about it."""

    ties: Ties
    findings: list[Finding] = field(default_factory=list)


def tie(samples: Sequence[Sample], known: Mapping[str, Side]) -> NearDuplicates:
    """`samples` in the order in which they came: those of earlier versions, whose sides are `known`, first."""
    groups: defaultdict[int, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.fingerprint:
            groups[int(sample.fingerprint, 16)].append(sample)
    neighbours = _neighbours(list(groups))
    kinds: dict[int, _Kind] = {}
    torn: list[Sample] = []
    repeats: list[Sample] = []
    for at, members in enumerate(groups.values()):
        own = {known[one.blob.sha256] for one in members if one.blob.sha256 in known}
        met = [kinds[other].whole() for other in neighbours[at]]
        kinds[at], is_torn = _joined(members, own, met)
        fresh = [one for one in members if one.blob.sha256 not in known]
        if is_torn:
            torn += fresh
        repeats += fresh if met else [one for one in members[1:] if one in fresh]
    return NearDuplicates(_ties(groups.values(), kinds, known), _findings(repeats, torn, len(samples)))


def _joined(members: Sequence[Sample], own: set[Side], met: Sequence[_Kind]) -> tuple[_Kind, bool]:
    """The kind of the members, and whether it would have been on both sides."""
    first = members[0].blob.sha256
    if own:
        return _Kind(first, next(iter(own)) if len(own) == 1 else "train", is_fixed=True), len(own) > 1
    if not met:
        return _Kind(first, split_side(first)), False
    if len({kind.side for kind in met}) > 1:
        return _Kind(first, "train", is_fixed=True), True
    leader = next((kind for kind in met if kind.is_fixed), met[0])
    for kind in met:  # all are on the same side already
        kind.whole().join(leader)
    return leader, False


def _ties(groups: Iterable[list[Sample]], kinds: Mapping[int, _Kind], known: Mapping[str, Side]) -> Ties:
    firsts: dict[str, str] = {}
    sides: dict[str, Side] = {}
    for at, members in enumerate(groups):
        kind = kinds[at].whole()
        for sha in (sample.blob.sha256 for sample in members):
            if sha in known:
                continue
            if kind.is_fixed:
                sides[sha] = kind.side
            else:
                firsts[sha] = kind.first
    return Ties(firsts, sides)


def _neighbours(hashes: Sequence[int]) -> list[list[int]]:
    """Of each of the distinct hashes the earlier ones that are near."""
    found: list[list[int]] = [[] for _ in hashes]
    array = np.array(hashes, np.uint64)
    pairs = {pair for band in range(_BANDS) for pair in _pairs_in_band(array, band)}
    for earlier, later in sorted(pairs):
        found[later].append(earlier)
    return found


def _pairs_in_band(hashes: Hashes, band: int) -> Iterator[tuple[int, int]]:
    """Pairs of places of near hashes that agree in the band; the bits of a band are spread over the picture."""
    keys = np.zeros(len(hashes), np.uint64)
    for bit in range(band, 64, _BANDS):
        keys = (keys << np.uint64(1)) | ((hashes >> np.uint64(bit)) & np.uint64(1))
    order = np.argsort(keys, kind="stable")
    keys, hashes = keys[order], hashes[order]
    for step in range(1, min(_WINDOW, len(hashes) - 1) + 1):
        same = np.flatnonzero(keys[step:] == keys[:-step])
        if not len(same):
            return
        near = same[_distances(hashes[same], hashes[same + step]) <= NEAR_BITS]
        for one, other in zip(order[near].tolist(), order[near + step].tolist(), strict=True):
            yield (one, other) if one < other else (other, one)


def _distances(one: Hashes, other: Hashes) -> NDArray[np.int64]:
    halves = (one ^ other).view(np.uint16).reshape(-1, 4)
    counts: NDArray[np.int64] = _BIT_COUNTS[halves].sum(axis=1, dtype=np.int64)
    return counts


def _findings(repeats: Sequence[Sample], torn: Sequence[Sample], total: int) -> list[Finding]:
    findings = []
    if repeats:
        sentence = f"{len(repeats)} pictures are almost the same as another; they are kept, on the same side as that."
        remedy = "Nothing for bursts; otherwise different pictures teach more."
        findings.append(_finding("near_duplicates", sentence, remedy, repeats, total))
    if torn:
        sentence = f"{len(torn)} pictures resemble some to train and some to judge with; they are trained on."
        findings.append(_finding("near_duplicates_between_sides", sentence, "", torn, total))
    return findings


def _finding(code: str, sentence: str, remedy: str, found: Sequence[Sample], total: int) -> Finding:
    examples = tuple(sample.name for sample in found[:_NAMED])
    return Finding(code, "info", sentence, remedy, len(found), len(found) / total, examples)
