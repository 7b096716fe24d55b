"""Whether a data set can be trained on, judged by its samples a class."""

from collections.abc import Mapping

from learning.task import Finding

MIN_CLASSES = 2
MIN_SAMPLES = 2  # a class
_FEW_SAMPLES = 20  # a class; below, results depend much on which ones were held out
_IMBALANCE = 20  # largest class over smallest
_NAMED = 5


def check_classes(class_counts: Mapping[str, int]) -> list[Finding]:
    """Errors first. Codes: too_few_classes, class_too_small, class_small, classes_uneven."""
    findings = []
    if len(class_counts) < MIN_CLASSES:
        found = ", ".join(class_counts) or "none"
        sentence = f"Telling classes apart needs at least {MIN_CLASSES} of them; found: {found}."
        findings.append(Finding("too_few_classes", "error", sentence, "Add another class.", len(class_counts), 1.0))
    findings += _too_small({name: count for name, count in class_counts.items() if count < MIN_SAMPLES}, class_counts)
    few = {name: count for name, count in class_counts.items() if MIN_SAMPLES <= count < _FEW_SAMPLES}
    return [*findings, *_small(few, class_counts), *_unevenness(class_counts)]


def _too_small(found: Mapping[str, int], class_counts: Mapping[str, int]) -> list[Finding]:
    if not found:
        return []
    sentence = f"{_classes(found)} {_counts(found)}; each class needs at least {MIN_SAMPLES} usable pictures."
    remedy = "Add pictures, or leave the class out."
    share = len(found) / len(class_counts)
    return [Finding("class_too_small", "error", sentence, remedy, len(found), share, tuple(found)[:_NAMED])]


def _small(found: Mapping[str, int], class_counts: Mapping[str, int]) -> list[Finding]:
    if not found:
        return []
    sentence = f"{_classes(found)} few pictures: {_counts(found)}; their figures depend on which ones are held out."
    remedy = f"Add pictures until there are {_FEW_SAMPLES} or more."
    share = len(found) / len(class_counts)
    return [Finding("class_small", "warning", sentence, remedy, len(found), share, tuple(found)[:_NAMED])]


def _classes(found: Mapping[str, int]) -> str:
    return "1 class has" if len(found) == 1 else f"{len(found)} classes have"


def _counts(found: Mapping[str, int]) -> str:
    named = ", ".join(f"{name} ({count})" for name, count in list(found.items())[:_NAMED])
    return named + (", ..." if len(found) > _NAMED else "")


def _unevenness(class_counts: Mapping[str, int]) -> list[Finding]:
    if not class_counts or min(class_counts.values()) * _IMBALANCE > max(class_counts.values()):
        return []
    largest, smallest = max(class_counts, key=class_counts.__getitem__), min(class_counts, key=class_counts.__getitem__)
    sentence = f"Class {largest} has {class_counts[largest]} pictures and class {smallest} {class_counts[smallest]}."
    remedy = f"Add pictures to {smallest}, or it will be overlooked."
    share = class_counts[smallest] / sum(class_counts.values())
    return [Finding("classes_uneven", "warning", sentence, remedy, class_counts[smallest], share, (smallest,))]
