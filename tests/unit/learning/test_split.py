"""Sides follow from the content, and tiny classes are looked after."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.split import Side, assign_sides, split_side


def shas(count: int, salt: str = "") -> list[str]:
    return [hashlib.sha256(f"{salt}{i}".encode()).hexdigest() for i in range(count)]


def test_the_shares_are_80_10_10() -> None:
    counts = Counter(split_side(sha) for sha in shas(10_000))
    assert counts["test"] == pytest.approx(1000, abs=100)
    assert counts["validation"] == pytest.approx(1000, abs=100)


@given(st.integers(1, 40), st.integers(0, 60), st.integers(0, 5))
def test_a_known_sample_keeps_its_side_when_others_come(before: int, more: int, salt: int) -> None:
    everyone = [(sha, "a") for sha in shas(before + more, str(salt))]
    first = assign_sides(everyone[:before])
    assert {sha: assign_sides(everyone, first)[sha] for sha in first} == first


@given(st.permutations(range(30)))
def test_the_order_does_not_matter(order: list[int]) -> None:
    pairs = [(sha, f"class {i % 3}") for i, sha in enumerate(shas(30))]
    assert assign_sides([pairs[i] for i in order]) == assign_sides(pairs)


@pytest.mark.parametrize("salt", ["a", "b", "c", "d"])
@pytest.mark.parametrize(
    ("size", "needed"),
    [(1, {"train"}), (2, {"train"}), (3, {"train", "test"}), (5, {"train", "validation", "test"})],
)
def test_a_tiny_class_is_on_every_side_it_can_be_on(size: int, needed: set[Side], salt: str) -> None:
    sides = assign_sides([(sha, "tiny") for sha in shas(size, salt)])
    assert needed <= set(sides.values())


def test_a_class_that_chance_would_wholly_hold_out_is_trained_on() -> None:
    held_out = [sha for sha in shas(300) if split_side(sha) == "test"][:4]
    assert "train" in assign_sides([(sha, "unlucky") for sha in held_out]).values()


def test_large_classes_are_left_to_the_hash() -> None:
    sample = shas(500)
    sides = assign_sides([(sha, "large") for sha in sample])
    assert sides == {sha: split_side(sha) for sha in sample}
