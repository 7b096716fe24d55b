"""What the event carries of an evaluation report. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Literal, cast

PrimaryMetric = Literal["accuracy", "macro_f1", "map50"]


def headline(report: Mapping[str, Any]) -> dict[str, float]:
    """The figures at the top of the report: no counts (integers), none that nothing could be said about."""
    return {name: value for name, value in report.items() if isinstance(value, float) and math.isfinite(value)}


def primary_metric(report: Mapping[str, Any]) -> PrimaryMetric:
    """The figure by which versions are compared: the report names it, or it is the accuracy."""
    return cast(PrimaryMetric, report.get("primary_metric", "accuracy"))
