"""Evaluation reports on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from easyloop.showing import say, table

_WORST = 5


def report(console: Console, found: Mapping[str, Any]) -> None:
    """The figures that matter with how far they can be trusted, what stood out, and the worst mistakes."""
    names = {each["id"]: each["name"] for each in found.get("classes", ())}
    say(console, f"accuracy {accuracy(found)}")
    if (macro := found.get("macro_f1")) is not None:
        say(console, f"macro F1 {macro:.4f}{_interval(found.get('macro_f1_interval'))}")
    expected = found.get("training", {}).get("expected_with_twice_the_data")
    if expected is not None:
        say(console, f"expected accuracy with twice as many samples: about {expected:.1%}")
    if precision := found.get("precision"):
        each = ", ".join(f"{name} {_figure(value)}" for name, value in precision["accuracies"].items())
        say(console, f"served in {precision['served']} ({each})")
    for finding in found.get("findings", ()):
        say(console, f"{finding['severity']}: {finding['sentence']} {finding.get('remedy', '')}".rstrip())
    _worst(console, found.get("worst_cases", ())[:_WORST], names)


def accuracy(found: Mapping[str, Any]) -> str:
    """With its 95 % interval and the number of samples."""
    count = found.get("sample_count", 0)
    return f"{_figure(found.get('accuracy'))}{_interval(found.get('accuracy_interval'))} on {count} test samples"


def _worst(console: Console, cases: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> None:
    if not cases:
        return
    rows = [
        (
            case["sha"][:12],
            names.get(case["truth"], case["truth"]),
            f"{names.get(case['predicted'], case['predicted'])} {case['score']:.2f}",
            ", ".join(names.get(each["label"], each["label"]) for each in case.get("nearest", ())),
        )
        for case in cases
    ]
    table(console, ("surest mistakes", "is", "taken for", "nearest training samples are"), rows)


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _interval(bounds: Sequence[float] | None) -> str:
    return "" if bounds is None else f" (95 % confidence: {bounds[0]:.4f} to {bounds[1]:.4f})"
