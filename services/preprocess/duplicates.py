"""Files with equal content: one is kept where their labels agree, none where they do not. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chassis.manifests import Manifest, Rejection, Sample
from learning.task import Finding

_NAMED = 5


@dataclass(frozen=True)
class Distinct:
    """Samples of which no two have the same content, and what became of the others."""

    samples: tuple[Sample, ...]
    rejections: tuple[Rejection, ...]
    findings: tuple[Finding, ...]


def distinct(samples: Iterable[Sample]) -> Distinct:
    """The first of each content stays, so put those first that were there before. Contents are compared by hash."""
    by_content: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_content[sample.blob.sha256].append(sample)
    kept, repeated, disputed = [], [], []
    for group in by_content.values():
        if len({sample.labels for sample in group}) > 1:
            disputed.append(group)
        else:
            kept.append(group[0])
            repeated += [(sample, group[0]) for sample in group[1:]]
    rejections = [_repeated(sample, first) for sample, first in repeated]
    rejections += [_disputed(sample, group) for group in disputed for sample in group]
    total = sum(map(len, by_content.values()))
    return Distinct(tuple(kept), tuple(rejections), _findings([sample for sample, _ in repeated], disputed, total))


def without_relabelled(before: Manifest, added: Sequence[Manifest]) -> Manifest:
    """`before` less the contents that arrive anew under another label: what was refused is mended by a new upload."""
    labels = {sample.blob.sha256: sample.labels for part in added for sample in part.samples}
    kept = [sample for sample in before.samples if labels.get(sample.blob.sha256, sample.labels) == sample.labels]
    return Manifest(before.classes, tuple(kept))


def _repeated(sample: Sample, first: Sample) -> Rejection:
    sentence = f"{sample.name}: its content is the same as that of {first.name}, which is kept."
    return Rejection(sample.name, "duplicate", sentence)


def _disputed(sample: Sample, group: Sequence[Sample]) -> Rejection:
    others = ", ".join(other.name for other in group if other is not sample)
    sentence = f"{sample.name}: the same content has another label as {others}; keep it in one class folder only."
    return Rejection(sample.name, "conflicting_labels", sentence)


def _findings(repeated: Sequence[Sample], disputed: Sequence[Sequence[Sample]], total: int) -> tuple[Finding, ...]:
    findings = []
    if repeated:
        sentence = f"{len(repeated)} files repeat the content of another file of their class; one of each is kept."
        examples = tuple(sample.name for sample in repeated[:_NAMED])
        share = len(repeated) / total
        findings.append(Finding("duplicates", "warning", sentence, "", len(repeated), share, examples))
    if disputed:
        groups = tuple("; ".join(sample.name for sample in group[:_NAMED]) for group in disputed[:_NAMED])
        sentence = f"{len(disputed)} contents lie in several class folders and were left out."
        remedy = "Keep each in the folder of its true class and upload them again."
        share = sum(map(len, disputed)) / total
        findings.append(Finding("conflicting_labels", "warning", sentence, remedy, len(disputed), share, groups))
    return tuple(findings)
