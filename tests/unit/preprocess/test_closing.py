"""The pure part of closing a version."""

import hashlib
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.manifests import ClassName, Manifest, Rejection, Sample, write_manifest
from learning.task import Finding
from schemas.base import BlobRef
from services.preprocess.closing import ClosedVersion, close_version

NOTHING = Manifest((), ())


def content(text: str) -> BlobRef:
    sha = hashlib.sha256(text.encode()).hexdigest()
    return BlobRef(key=sha, size=len(text), sha256=sha)


def sample(name: str, text: str | None = None) -> Sample:
    return Sample(name, (ClassName.named(name.split("/")[0]).id,), content(text or name), 64, 64)


def chunk(*samples: Sample, classes: Sequence[str] = ()) -> Manifest:
    names = {*classes, *(entry.name.split("/")[0] for entry in samples)}
    return Manifest(tuple(ClassName.named(name) for name in sorted(names)), tuple(samples))


def no_check(counts: Mapping[str, int]) -> list[Finding]:
    return []


def closed(*chunks: Manifest, base: Manifest = NOTHING) -> ClosedVersion:
    return close_version(base, chunks, [], no_check)


def names(version: ClosedVersion) -> list[str]:
    return [entry.name for entry in version.manifest.samples]


def codes(version: ClosedVersion) -> list[str]:
    return [finding.code for finding in version.findings]


@settings(deadline=None)
@given(st.permutations(range(6)), st.integers(1, 5))
def test_neither_the_order_nor_the_cut_of_the_chunks_matters(order: list[int], cut: int) -> None:
    samples = [sample(f"{label}/{number}") for label in ("cat", "dog") for number in range(3)]
    shuffled = [samples[place] for place in order]
    parts = chunk(*shuffled[:cut]), chunk(*shuffled[cut:])
    assert write_manifest(closed(*parts).manifest) == write_manifest(closed(chunk(*samples)).manifest)


def test_equal_contents_of_one_class_are_kept_once() -> None:
    version = closed(chunk(sample("cat/2", "same"), sample("dog/3")), chunk(sample("cat/1", "same")))
    assert names(version) == ["cat/1", "dog/3"]
    assert [(refusal.name, refusal.code) for refusal in version.rejections] == [("cat/2", "duplicate")]
    assert "cat/1" in version.rejections[0].sentence
    assert codes(version) == ["duplicates", "files_refused"]


def test_equal_contents_under_two_labels_are_all_left_out_and_named() -> None:
    version = closed(chunk(sample("cat/1", "same"), sample("dog/1", "same"), sample("cat/2"), sample("dog/2")))
    assert names(version) == ["cat/2", "dog/2"]
    assert {refusal.code for refusal in version.rejections} == {"conflicting_labels"}
    finding = version.findings[0]
    assert finding.code == "conflicting_labels"
    assert finding.examples == ("cat/1; dog/1",)


def test_a_class_without_a_usable_file_is_left_out_and_named() -> None:
    version = closed(chunk(sample("cat/1"), classes=["fish"]))
    assert [name.name for name in version.manifest.classes] == ["cat"]
    assert codes(version) == ["empty_classes"]
    assert "fish" in version.findings[0].sentence


def test_counts_add_up() -> None:
    version = closed(chunk(*(sample(f"cat/{number}") for number in range(40)), sample("dog/1")))
    assert version.class_counts == {ClassName.named("cat").id: 40, ClassName.named("dog").id: 1}
    assert sum(version.split_counts.values()) == 41
    assert all(entry.split is not None for entry in version.manifest.samples)


def test_a_later_version_keeps_the_samples_before_it_on_their_sides() -> None:
    first = closed(chunk(*(sample(f"cat/{number}") for number in range(4)))).manifest
    version = closed(chunk(*(sample(f"cat/{number}") for number in range(2, 30)), sample("dog/1")), base=first)
    sides = {entry.name: entry.split for entry in version.manifest.samples}
    assert {entry.name: entry.split for entry in first.samples}.items() <= sides.items()
    assert len(sides) == 31
    assert [refusal.name for refusal in version.rejections] == ["cat/2", "cat/3"]


def test_refusals_of_the_chunks_stay_and_are_sorted() -> None:
    refused = [Rejection("b", "x", "b: x."), Rejection("a", "x", "a: x.")]
    version = close_version(NOTHING, [chunk(sample("cat/1"))], refused, no_check)
    assert [refusal.name for refusal in version.rejections] == ["a", "b"]


@pytest.mark.parametrize(("severity", "fails"), [("error", True), ("warning", False)])
def test_only_an_error_of_the_check_makes_the_version_fail(severity: str, fails: bool) -> None:
    def check(counts: Mapping[str, int]) -> list[Finding]:
        return [Finding("one_class", severity, f"Only {len(counts)} class.")]  # type: ignore[arg-type]  # one of the two

    version = close_version(NOTHING, [chunk(sample("cat/1"))], [], check)
    assert (version.failure is not None) is fails


def test_a_version_without_samples_fails() -> None:
    failure = closed(chunk(classes=["cat"])).failure
    assert failure is not None
    assert failure.code == "no_usable_samples"
