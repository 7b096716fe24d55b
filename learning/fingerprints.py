"""Near duplicates by the fingerprints of `task.Prepared`. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NEAR_BITS = 4
"""Greatest distance of near duplicates, of 64 bits. Photographs of scikit-image: recompressed or halved ones are mostly
within 4, unrelated ones 13 or more apart."""

_BIT_COUNTS = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)
_CHUNK = 256  # rows at a time: bounds memory at 256 bytes for each of the others


def has_near_copy(fingerprints: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Of each whether one of the others is a near duplicate; an empty fingerprint is like nothing."""
    theirs = _numbers([each for each in others if each])
    mine = _numbers([each or "0" for each in fingerprints])
    found = np.zeros(len(mine), np.bool_)
    for start in range(0, len(mine) if len(theirs) else 0, _CHUNK):
        differing = (mine[start : start + _CHUNK, np.newaxis] ^ theirs).view(np.uint16)
        distances = _BIT_COUNTS[differing].reshape(-1, len(theirs), 4).sum(axis=2, dtype=np.uint8)
        found[start : start + _CHUNK] = distances.min(axis=1) <= NEAR_BITS
    return [bool(fingerprint) and bool(near) for fingerprint, near in zip(fingerprints, found, strict=True)]


def _numbers(fingerprints: Sequence[str]) -> NDArray[np.uint64]:
    return np.array([int(each, 16) for each in fingerprints], np.uint64)
