"""What is worth telling about the files of a version as a whole: refused ones, tiny ones, changed ones. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

from chassis.manifests import Rejection, Sample
from learning.task import Finding

Severity = Literal["error", "warning", "info"]

_NAMED = 5
_TINY_SIDE = 32  # pixels; a network looks at 224, so what is smaller is guessed rather than seen
_MANY_REFUSED = 0.2  # of the files; more is more than a few odd ones


def findings_of(samples: Sequence[Sample], refused: Sequence[Rejection]) -> list[Finding]:
    """Codes: files_refused, tiny_pictures, changed (one for each kind of change)."""
    return [*_refused(refused, len(samples) + len(refused)), *_tiny(samples), *_changed(samples)]


def _refused(refused: Sequence[Rejection], total: int) -> list[Finding]:
    if not refused:
        return []
    share = len(refused) / total
    reasons = ", ".join(f"{count} x {code}" for code, count in Counter(one.code for one in refused).most_common(_NAMED))
    sentence = f"{len(refused)} of {total} files were refused ({reasons})."
    examples = tuple(one.name for one in refused[:_NAMED])
    remedy = "The list of refused files says for each what to do."
    severity: Severity = "warning" if share > _MANY_REFUSED else "info"
    return [Finding("files_refused", severity, sentence, remedy, len(refused), share, examples)]


def _tiny(samples: Sequence[Sample]) -> list[Finding]:
    """Tasks without pictures say 0 pixels."""
    found = [sample for sample in samples if 0 < min(sample.width, sample.height) < _TINY_SIDE]
    if not found:
        return []
    sentence = f"{_files(len(found))} under {_TINY_SIDE} pixels on the shorter side; little can be seen in them."
    return [_finding("tiny_pictures", "warning", sentence, "Send larger pictures.", found, len(samples))]


def _changed(samples: Sequence[Sample]) -> list[Finding]:
    by_note: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        for note in sample.notes:
            by_note[note].append(sample)
    return [
        _finding("changed", "info", f"{_files(len(found))} changed: {note}", "", found, len(samples))
        for note, found in sorted(by_note.items())
    ]


def _files(count: int) -> str:
    return "1 picture is" if count == 1 else f"{count} pictures are"


def _finding(code: str, severity: Severity, sentence: str, remedy: str, found: Sequence[Sample], total: int) -> Finding:
    examples = tuple(sample.name for sample in found[:_NAMED])
    return Finding(code, severity, sentence, remedy, len(found), len(found) / total, examples)
