"""Near duplicates share a side, and no class loses its test samples to them."""

import hashlib
import io
import random
import time
from collections import Counter

import pyarrow.parquet as pq
import pytest

from chassis.manifests import ClassName, Manifest, Sample, read_manifest, write_manifest
from learning.fingerprints import NEAR_BITS
from schemas.base import BlobRef, Split
from services.preprocess.closing import ClosedVersion, close_version
from services.preprocess.near_duplicates import tie

NOTHING = Manifest((), ())


def sample(name: str, print_: int, split: Split | None = None) -> Sample:
    sha = hashlib.sha256(name.encode()).hexdigest()
    label = ClassName.named(name.split("/")[0]).id
    return Sample(name, (label,), BlobRef(key=sha, size=1, sha256=sha), 64, 64, (), split, f"{print_:016x}")


def unlike(count: int, seed: int = 0) -> list[int]:
    draw = random.Random(seed)
    return [draw.getrandbits(64) for _ in range(count)]


def near(print_: int, bits: int) -> int:
    for bit in range(bits):
        print_ ^= 1 << (7 * bit)
    return print_


def closed(samples: list[Sample], base: Manifest = NOTHING) -> ClosedVersion:
    names = {one.name.split("/")[0] for one in samples}
    chunk = Manifest(tuple(ClassName.named(name) for name in sorted(names)), tuple(samples))
    return close_version(base, [chunk], [], lambda counts: [])


def sides(version: ClosedVersion) -> dict[str, Split | None]:
    return {one.name: one.split for one in version.manifest.samples}


@pytest.mark.parametrize(("bits", "is_tied"), [(1, True), (NEAR_BITS, True), (NEAR_BITS + 1, False)])
def test_what_differs_in_few_bits_is_tied(bits: int, is_tied: bool) -> None:
    first = unlike(1)[0]
    found = tie([sample("cat/a", first), sample("cat/b", near(first, bits))], {})
    assert (len(set(found.ties.kinds.values())) == 1) is is_tied
    assert bool(found.findings) is is_tied


def test_a_near_duplicate_of_a_known_sample_joins_its_side_for_good() -> None:
    prints = unlike(40)
    base = Manifest((ClassName.named("cat"),), (sample("cat/known", prints[0], "validation"),))
    more = [sample(f"cat/{number}", print_) for number, print_ in enumerate(prints[1:])]
    version = closed([sample("cat/near", near(prints[0], 2)), *more], base)
    assert sides(version)["cat/known"] == "validation"
    assert sides(version)["cat/near"] == "validation"
    (finding,) = [one for one in version.findings if one.code == "near_duplicates"]
    assert (finding.count, finding.examples) == (1, ("cat/near",))


def test_one_that_would_join_both_sides_is_trained_on_and_named() -> None:
    first = unlike(1)[0]
    base = Manifest(
        (ClassName.named("cat"),),
        (sample("cat/1", first, "train"), sample("cat/2", near(first, 2 * NEAR_BITS), "test")),
    )
    version = closed([sample("cat/between", near(first, NEAR_BITS))], base)
    assert sides(version) == {"cat/1": "train", "cat/2": "test", "cat/between": "train"}
    assert "near_duplicates_between_sides" in [one.code for one in version.findings]


@pytest.mark.parametrize("size", [3, 5, 30])
def test_a_class_that_is_one_burst_still_has_test_samples(size: int) -> None:
    version = closed([sample(f"cat/{number}", unlike(1)[0]) for number in range(size)])
    counts = Counter(sides(version).values())
    assert counts["test"] >= 1
    assert counts["train"] >= 0.6 * size


def test_bursts_stay_together() -> None:
    bursts = unlike(60)
    version = closed([sample(f"cat/{b:02}-{n}", near(print_, n)) for b, print_ in enumerate(bursts) for n in range(4)])
    by_burst: dict[str, set[Split | None]] = {}
    for name, side in sides(version).items():
        by_burst.setdefault(name.split("-")[0], set()).add(side)
    assert all(len(found) == 1 for found in by_burst.values())
    assert {next(iter(found)) for found in by_burst.values()} == {"train", "validation", "test"}


def test_a_manifest_without_fingerprints_is_read() -> None:
    whole = write_manifest(Manifest((ClassName.named("cat"),), (sample("cat/1", 5, "train"),)))
    table = pq.read_table(io.BytesIO(whole)).drop_columns(["fingerprint"])
    target = io.BytesIO()
    pq.write_table(table, target)
    (read,) = read_manifest(target.getvalue()).samples
    assert (read.name, read.fingerprint) == ("cat/1", "")
    assert read_manifest(whole).samples[0].fingerprint == f"{5:016x}"


def test_a_hundred_thousand_are_tied_in_seconds() -> None:
    prints = unlike(90_000)
    samples = [
        sample(f"cat/{number}", print_) for number, print_ in enumerate([*prints, *(p ^ 1 for p in prints[:9000])])
    ]
    started = time.monotonic()
    found = tie(samples, {})
    assert time.monotonic() - started < 30
    assert found.findings[0].count == 9000
