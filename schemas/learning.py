"""The search for a model, its training and its evaluation. Written by hpo, trainer and evaluator."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from schemas.base import BlobRef, Event, Failure, Value
from schemas.run import Budget

Fraction = Annotated[float, Field(ge=0, le=1)]
Scalar = float | int | str | bool | None


class StudyStarted(Event):
    """The study's first stage is planned, with so many trials; what it finds decides about further ones."""

    TYPE: ClassVar[str] = "easyloop.study.started.v1"

    run_id: str
    study_id: str
    trial_count: PositiveInt


class Progress(Value):
    """How far a stage is. `metrics` are whatever is worth watching, by name."""

    run_id: str
    stage: str
    fraction: Fraction
    message_code: str
    eta_s: NonNegativeFloat | None = None
    metrics: dict[str, float] = Field(default_factory=dict)


class StudyProgressed(Progress, Event):
    """How far the study is; at most one a second."""

    TYPE: ClassVar[str] = "easyloop.study.progressed.v1"


class TrialCompleted(Event):
    """One candidate was trained as far as the scheduler let it go, and judged on the validation split."""

    TYPE: ClassVar[str] = "easyloop.trial.completed.v1"

    run_id: str
    study_id: str
    trial: NonNegativeInt
    candidate: dict[str, Scalar]
    metrics: dict[str, float]
    stopped_early: bool


class StudyCompleted(Event):
    """The winner is known. `winner` is a JSON file: candidate, feature recipe, score, calibration.

    `features` are the cached features the winner was found on; a trainer that finds them need not compute them again.
    `report` is a JSON file: every stage and trial, why it was tried, and why the winner won.
    """

    TYPE: ClassVar[str] = "easyloop.study.completed.v1"

    run_id: str
    study_id: str
    dataset_id: str
    version: PositiveInt
    model_id: str
    task: str
    manifest: BlobRef
    budget: Budget
    seed: NonNegativeInt
    winner: BlobRef
    features: list[BlobRef]
    metrics: dict[str, float]
    trial_count: PositiveInt
    report: BlobRef | None = None


class StudyFailed(Event):
    """No candidate could be trained."""

    TYPE: ClassVar[str] = "easyloop.study.failed.v1"

    run_id: str
    failure: Failure


class TrainingProgressed(Progress, Event):
    """How far the training is; at most one a second."""

    TYPE: ClassVar[str] = "easyloop.training.progressed.v1"


class ModelTrained(Event):
    """The winner is fitted on train + validation and exported. `bundle` is a zip: models and manifest.

    `evidence` is what the evaluation needs to know of the samples that were trained on.
    """

    TYPE: ClassVar[str] = "easyloop.model.trained.v1"

    run_id: str
    dataset_id: str
    version: PositiveInt
    model_id: str
    task: str
    manifest: BlobRef
    bundle: BlobRef
    metrics: dict[str, float]
    evidence: BlobRef | None = None


class TrainingFailed(Event):
    """The winner could not be fitted or exported."""

    TYPE: ClassVar[str] = "easyloop.training.failed.v1"

    run_id: str
    failure: Failure


class ModelEvaluated(Event):
    """The model was judged on the test split, which no other stage has seen. `report` is a JSON file.

    `bundle` is the trained one, settled: with the precision that is served, and the model card.
    `baseline_version` and `baseline_metrics` are those of the version in production, rescored on the same samples.
    """

    TYPE: ClassVar[str] = "easyloop.model.evaluated.v1"

    run_id: str
    model_id: str
    bundle: BlobRef
    report: BlobRef
    metrics: dict[str, float]
    primary_metric: Literal["accuracy", "macro_f1", "map50"]
    baseline_version: PositiveInt | None = None
    baseline_metrics: dict[str, float] | None = None
    test_sample_count: NonNegativeInt | None = None


class EvaluationFailed(Event):
    """The model could not be judged."""

    TYPE: ClassVar[str] = "easyloop.evaluation.failed.v1"

    run_id: str
    failure: Failure
