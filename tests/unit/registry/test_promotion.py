"""When a version goes to production by itself, and what is said where it does not."""

import math

import pytest

from schemas.publishing import PublishPolicy
from services.registry.promotion import Candidate, Incumbent, decide

DEFAULT = PublishPolicy()


def a_candidate(accuracy: float = 0.9, test_samples: int | None = 100, **metrics: float) -> Candidate:
    return Candidate({"accuracy": accuracy, **metrics}, "accuracy", test_samples)


def an_incumbent(accuracy: float = 0.9, **metrics: float) -> Incumbent:
    return Incumbent(1, {"accuracy": accuracy, **metrics})


@pytest.mark.parametrize(("accuracy", "published"), [(0.91, True), (0.90, True), (0.89, False), (math.nan, False)])
def test_by_default_a_version_that_is_not_worse_is_published(accuracy: float, published: bool) -> None:
    decision = decide(DEFAULT, a_candidate(accuracy), an_incumbent())
    assert decision.published is published
    assert decision.reason == f"accuracy {accuracy:.4f} against 0.9000 of version 1 on the same samples"


def test_the_first_version_is_published_however_bad() -> None:
    assert decide(DEFAULT, Candidate({}, "accuracy"), None).published


@pytest.mark.parametrize("incumbent", [None, an_incumbent(0.99), Incumbent(1, None)])
def test_always_and_never_look_at_no_score(incumbent: Incumbent | None) -> None:
    candidate = Candidate({}, "accuracy")
    assert decide(PublishPolicy(publish="always"), candidate, incumbent).published
    never = decide(PublishPolicy(publish="never"), candidate, incumbent)
    assert (never.published, never.reason) == (False, "the policy leaves publishing to you")


@pytest.mark.parametrize(("accuracy", "published"), [(0.92, True), (0.9199, False), (0.95, True)])
def test_a_gain_that_is_demanded_is_measured_without_rounding_errors(accuracy: float, published: bool) -> None:
    decision = decide(PublishPolicy(min_gain=0.02), a_candidate(accuracy), an_incumbent())
    assert decision.published is published
    assert published or decision.reason.endswith("; the policy wants a gain of 0.02")


def test_the_policys_metric_decides_and_fewer_errors_are_better() -> None:
    by_f1 = PublishPolicy(metric="macro_f1")
    assert decide(by_f1, a_candidate(0.8, macro_f1=0.7), an_incumbent(0.9, macro_f1=0.6)).published
    by_loss = PublishPolicy(metric="log_loss", min_gain=0.1)
    assert decide(by_loss, a_candidate(log_loss=0.3), an_incumbent(log_loss=0.4)).published
    assert not decide(by_loss, a_candidate(log_loss=0.4), an_incumbent(log_loss=0.3)).published


def test_what_is_protected_must_not_get_worse() -> None:
    policy = PublishPolicy(protect=["macro_recall"])
    decision = decide(policy, a_candidate(0.95, macro_recall=0.70), an_incumbent(0.9, macro_recall=0.75))
    assert not decision.published
    assert decision.reason.endswith("but macro_recall 0.7000 against 0.7500, which the policy protects")
    assert decide(policy, a_candidate(0.95, macro_recall=0.75), an_incumbent(0.9, macro_recall=0.75)).published


@pytest.mark.parametrize("incumbent", [None, an_incumbent()])
@pytest.mark.parametrize(("samples", "published"), [(50, True), (49, False), (None, False)])
def test_too_few_test_samples_publish_nothing(
    incumbent: Incumbent | None, samples: int | None, published: bool
) -> None:
    decision = decide(PublishPolicy(min_test_samples=50), a_candidate(test_samples=samples), incumbent)
    assert decision.published is published
    assert published or f"test samples: {samples or 'unknown'}; the policy wants 50" in decision.reason


@pytest.mark.parametrize(
    ("candidate", "incumbent", "said"),
    [
        (a_candidate(), Incumbent(3, None), "version 3 could not be rescored"),
        (Candidate({}, "accuracy"), an_incumbent(), "this version has no accuracy"),
        (a_candidate(), Incumbent(3, {}), "version 3 has no accuracy"),
    ],
)
def test_what_cannot_be_compared_is_not_published(candidate: Candidate, incumbent: Incumbent, said: str) -> None:
    decision = decide(DEFAULT, candidate, incumbent)
    assert not decision.published
    assert decision.reason.startswith(said)
    assert decision.reason.endswith("publish by hand if you wish")


def test_a_protected_metric_that_nobody_measured_publishes_nothing() -> None:
    decision = decide(PublishPolicy(protect=["map50"]), a_candidate(), an_incumbent())
    assert decision.reason.startswith("this version has no map50")
