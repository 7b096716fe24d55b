"""Near duplicates by fingerprint."""

import pytest

from learning.fingerprints import NEAR_BITS, has_near_copy

NOTHING = "0" * 16
NEAR, FAR = f"{(1 << NEAR_BITS) - 1:016x}", f"{(1 << (NEAR_BITS + 1)) - 1:016x}"


@pytest.mark.parametrize(
    ("fingerprints", "others", "found"),
    [
        ([NOTHING, NEAR, FAR], [NOTHING], [True, True, False]),
        (["f" * 16, "8" + "0" * 15], [NOTHING, "f" * 16], [True, True]),
        (["", NOTHING], ["", FAR], [False, False]),
        ([NOTHING], [], [False]),
        ([], [NOTHING], []),
    ],
)
def test_close_ones_are_copies(fingerprints: list[str], others: list[str], found: list[bool]) -> None:
    assert has_near_copy(fingerprints, others) == found


def test_many_are_compared_in_parts() -> None:
    many = [f"{number << 32:016x}" for number in range(600)]
    assert has_near_copy(many, [many[-1]])[-1]
    assert sum(has_near_copy(many, many)) == 600
