"""From the chunks of a version to the version itself. Pure; the order of the chunks does not matter."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chassis.manifests import ClassName, Manifest, Rejection, Sample
from learning.split import Ties, assign_sides
from learning.task import Finding
from schemas.base import Failure, Split
from services.preprocess.duplicates import distinct
from services.preprocess.near_duplicates import tie
from services.preprocess.quality import findings_of

_NAMED = 5

Check = Callable[[Mapping[str, int]], Sequence[Finding]]


@dataclass(frozen=True)
class ClosedVersion:
    """The whole version. Samples are in the order of their names; `class_counts` are keyed by class id."""

    manifest: Manifest
    rejections: tuple[Rejection, ...]
    findings: tuple[Finding, ...]
    class_counts: dict[str, int]
    split_counts: dict[Split, int]

    @property
    def failure(self) -> Failure | None:
        """Why the version cannot be trained on; None when it can."""
        errors = [finding for finding in self.findings if finding.severity == "error"]
        if not errors:
            return None
        sentences = [f"{error.sentence} {error.remedy}".strip() for error in errors]
        if self.manifest.samples:
            sentences.append(_STAYS)
        return Failure(code=errors[0].code, sentence=" ".join(sentences))


def close_version(
    base: Manifest, chunks: Sequence[Manifest], refused: Sequence[Rejection], check: Check
) -> ClosedVersion:
    """`base` is the version before it, whose samples this one keeps, each on its side; empty for the first."""
    added = sorted((sample for chunk in chunks for sample in chunk.samples), key=_place)
    unique = distinct([*base.samples, *added])
    known = {sample.blob.sha256: sample.split for sample in base.samples if sample.split is not None}
    near = tie(unique.samples, known)
    samples = _with_sides(sorted(unique.samples, key=_place), known, near.ties)
    counts = Counter(label for sample in samples for label in sample.labels)
    named = {name.id: name for part in (*chunks, base) for name in part.classes}
    classes = sorted((name for name in named.values() if counts[name.id]), key=lambda name: name.name)
    rejections = tuple(sorted({*refused, *unique.rejections}, key=lambda refusal: (refusal.name, refusal.code)))
    of_classes = (*check({name.name: counts[name.id] for name in classes}), *_emptied(named, counts))
    findings = (*of_classes, *unique.findings, *near.findings, *findings_of(samples, rejections))
    if not samples:
        findings = (Finding("no_usable_samples", "error", _NO_SAMPLES, _MEND, len(rejections), 1.0), *findings)
    return ClosedVersion(
        manifest=Manifest(tuple(classes), samples),
        rejections=rejections,
        findings=findings,
        class_counts={name.id: counts[name.id] for name in classes},
        split_counts=_split_counts(samples),
    )


_STAYS = "What was uploaded stays: the next upload adds to it."
_NO_SAMPLES = "None of the files could be used; the list of rejections says why for each."
_MEND = "Mend them and upload again."


def _place(sample: Sample) -> tuple[str, str]:
    return sample.name, sample.blob.sha256


def _with_sides(samples: Sequence[Sample], known: Mapping[str, Split], ties: Ties) -> tuple[Sample, ...]:
    sides = assign_sides([(sample.blob.sha256, sample.labels[0]) for sample in samples], known, ties)
    return tuple(sample.on_side(sides[sample.blob.sha256]) for sample in samples)


def _emptied(named: Mapping[str, ClassName], counts: Mapping[str, int]) -> list[Finding]:
    empty = sorted(name.name for name in named.values() if not counts.get(name.id))
    if not empty:
        return []
    sentence = f"No file of these classes could be used, so they are left out: {', '.join(empty[:_NAMED])}."
    remedy = "See the list of refused files; mend them and upload again."
    share = len(empty) / len(named)
    return [Finding("empty_classes", "warning", sentence, remedy, len(empty), share, tuple(empty[:_NAMED]))]


def _split_counts(samples: Sequence[Sample]) -> dict[Split, int]:
    counts = Counter(sample.split for sample in samples)
    sides: tuple[Split, ...] = ("train", "validation", "test")
    return {side: counts[side] for side in sides}
