"""Whether a data set can be trained on, judged by its samples a class."""

from collections.abc import Mapping

from learning.task import Finding

MIN_CLASSES = 2
MIN_SAMPLES = 2  # a class
_FEW_SAMPLES = 20  # a class; below, results depend much on which ones were held out
_IMBALANCE = 20  # largest class over smallest


def check_classes(class_counts: Mapping[str, int]) -> list[Finding]:
    """Errors first. Codes: too_few_classes, class_too_small, class_small, classes_uneven."""
    findings = []
    if len(class_counts) < MIN_CLASSES:
        found = ", ".join(class_counts) or "none"
        sentence = f"Telling classes apart needs at least {MIN_CLASSES} of them; found: {found}. Add another class."
        findings.append(Finding("too_few_classes", "error", sentence))
    findings += [_too_small(name, count) for name, count in class_counts.items() if count < MIN_SAMPLES]
    findings += [_small(name, count) for name, count in class_counts.items() if MIN_SAMPLES <= count < _FEW_SAMPLES]
    return findings + _unevenness(class_counts)


def _too_small(name: str, count: int) -> Finding:
    sentence = f"Class {name} has {count} usable picture{'' if count == 1 else 's'}; it needs at least {MIN_SAMPLES}."
    return Finding("class_too_small", "error", sentence)


def _small(name: str, count: int) -> Finding:
    sentence = f"Class {name} has only {count} pictures; {_FEW_SAMPLES} or more make its figures trustworthy."
    return Finding("class_small", "warning", sentence)


def _unevenness(class_counts: Mapping[str, int]) -> list[Finding]:
    if not class_counts or min(class_counts.values()) * _IMBALANCE > max(class_counts.values()):
        return []
    largest, smallest = max(class_counts, key=class_counts.__getitem__), min(class_counts, key=class_counts.__getitem__)
    sentence = (
        f"Class {largest} has {class_counts[largest]} pictures and class {smallest} {class_counts[smallest]}; "
        f"add pictures to {smallest}, or it will be overlooked."
    )
    return [Finding("classes_uneven", "warning", sentence)]
