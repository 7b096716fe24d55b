"""Which version of a model answers callers: the policy by which new versions are published, and how to go back."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from schemas.base import Event, Value

Publish = Literal["always", "if_better", "never"]
Metric = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$", examples=["macro_f1"])]


class PublishPolicy(Value):
    """When a new version goes to production by itself.

    `always`: whatever its score. `never`: only by hand. `if_better`: the first one, and a later one that gains at least
    `min_gain` (in units of the metric, 0.01 is one point of a hundred) over the version in production on the same test
    samples; the other settings count here alone. `metric` is the task's own where it is None. Metrics in `protect` must
    not get worse at all. With fewer test samples than `min_test_samples` nothing is judged, thus nothing published.
    """

    publish: Publish = "if_better"
    metric: Metric | None = None
    min_gain: float = Field(default=0.0, ge=-1.0, le=1.0, allow_inf_nan=False)
    min_test_samples: NonNegativeInt = 0
    protect: list[Metric] = Field(default_factory=list, max_length=20)


class Publication(Value):
    """Whether a version was published when it was registered, and the reason in words."""

    published: bool
    reason: str


class PolicySetRequested(Event):
    """Someone asks for another policy of the model."""

    TYPE: ClassVar[str] = "easyloop.policy.set.requested.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    policy: PublishPolicy
    actor: str = "admin"


class ModelPolicyChanged(Event):
    """Versions registered from now on are published by this policy."""

    TYPE: ClassVar[str] = "easyloop.model.policy.changed.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    policy: PublishPolicy
    previous: PublishPolicy
    actor: str


class AliasRollbackRequested(Event):
    """Someone asks for the alias to name the version before its last move.

    `from_version` is the one they saw published: where another is there by now, nothing happens, so that two people who
    roll back at the same time go back once.
    """

    TYPE: ClassVar[str] = "easyloop.alias.rollback.requested.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    alias: str
    from_version: PositiveInt
    reason: str = ""
    actor: str = "admin"
