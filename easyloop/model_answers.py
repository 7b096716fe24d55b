"""What the platform answers about models, their versions and aliases, and predictions."""

from pydantic import Field

from easyloop.answers import Answer, Failure, Publication


class Model(Answer):
    """What a data set's runs improve."""

    id: str
    dataset_id: str
    name: str
    task: str
    last_version: int
    aliases: dict[str, int] = Field(default_factory=dict)
    created_at: str


class ModelVersion(Answer):
    """One trained and evaluated model."""

    model_id: str
    version: int
    run_id: str
    dataset_id: str
    dataset_version: int
    metrics: dict[str, float]
    publication: Publication | None = None
    created_at: str


class Alias(Answer):
    """A name that callers use; `serving_version` is what the gateway answers from."""

    model_id: str
    alias: str
    version: int
    serving_version: int | None = None


class AliasMove(Answer):
    """One line of an alias's history."""

    version: int
    previous_version: int | None
    reason: str
    actor: str
    at: str


class Rollback(Answer):
    """A rollback that was asked for: from `from_version` back to `version`."""

    model_id: str
    alias: str
    from_version: int
    version: int


class PublishPolicy(Answer):
    """When a new version goes to production by itself.

    `publish` is always, if_better or never; the rest counts for if_better: a gain of `min_gain` in `metric` (the task's
    own where it is None), at least `min_test_samples` test samples, and no loss in the metrics that are in `protect`.
    """

    publish: str = "if_better"
    metric: str | None = None
    min_gain: float = 0.0
    min_test_samples: int = 0
    protect: list[str] = Field(default_factory=list)


class Score(Answer):
    """How strongly a prediction speaks for one class, 0 to 1."""

    class_id: str
    name: str
    score: float


class FilePrediction(Answer):
    """The best classes of one file, best first, or why it could not be read."""

    name: str | None = None
    results: list[Score]
    failure: Failure | None = None


class Predictions(Answer):
    """One entry a file, in the order they were sent."""

    model_id: str
    version: int
    threshold: float
    predictions: list[FilePrediction]
