"""Whether a new version goes to production by itself: a pure decision, with the reason in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.publishing import Publication, PublishPolicy

LOWER_IS_BETTER = frozenset({"log_loss", "calibration_error"})
ROUNDING = 1e-9
"""A gain of 0.01 is computed as 0.00999..., and still is one."""


@dataclass(frozen=True)
class Candidate:
    """The new version as the evaluator judged it. `test_samples` is None where the evaluator did not say."""

    metrics: Mapping[str, float]
    primary_metric: str
    test_samples: int | None = None


@dataclass(frozen=True)
class Incumbent:
    """The version in production. `metrics` are its score on the candidate's samples, None where it has none."""

    version: int
    metrics: Mapping[str, float] | None


def decide(policy: PublishPolicy, candidate: Candidate, incumbent: Incumbent | None) -> Publication:
    """Nothing is compared unless both were judged on the same samples; what cannot be compared is not published."""
    if policy.publish == "always":
        return Publication(published=True, reason="the policy publishes every version")
    if policy.publish == "never":
        return _not("the policy leaves publishing to you")
    if policy.min_test_samples and (candidate.test_samples or 0) < policy.min_test_samples:
        there = "unknown" if candidate.test_samples is None else str(candidate.test_samples)
        return _not(f"test samples: {there}; the policy wants {policy.min_test_samples}; upload more")
    if incumbent is None:
        return Publication(published=True, reason="no version was published before")
    return _compared(policy, candidate, incumbent)


def _compared(policy: PublishPolicy, candidate: Candidate, incumbent: Incumbent) -> Publication:
    if incumbent.metrics is None:
        return _not(
            f"version {incumbent.version} could not be rescored on the same samples; publish by hand if you wish"
        )
    metric = policy.metric or candidate.primary_metric
    for name in (metric, *policy.protect):
        for judged, whose in ((candidate.metrics, "this version"), (incumbent.metrics, f"version {incumbent.version}")):
            if name not in judged:
                return _not(f"{whose} has no {name} on the test samples; publish by hand if you wish")
    return _by_gain(policy, metric, candidate, incumbent, incumbent.metrics)


def _by_gain(
    policy: PublishPolicy, metric: str, candidate: Candidate, incumbent: Incumbent, before: Mapping[str, float]
) -> Publication:
    compared = (
        f"{metric} {candidate.metrics[metric]:.4f} against {before[metric]:.4f} of version {incumbent.version} "
        "on the same samples"
    )
    if not _gain(metric, candidate.metrics, before) >= policy.min_gain - ROUNDING:
        wanted = f"; the policy wants a gain of {policy.min_gain:g}" if policy.min_gain else ""
        return _not(compared + wanted)
    for name in policy.protect:
        if not _gain(name, candidate.metrics, before) >= -ROUNDING:
            worse = f"{name} {candidate.metrics[name]:.4f} against {before[name]:.4f}"
            return _not(f"{compared}; but {worse}, which the policy protects")
    return Publication(published=True, reason=compared)


def _gain(metric: str, candidate: Mapping[str, float], before: Mapping[str, float]) -> float:
    difference = candidate[metric] - before[metric]
    return -difference if metric in LOWER_IS_BETTER else difference


def _not(reason: str) -> Publication:
    return Publication(published=False, reason=reason)
