"""Training runs, and the models that come of them. Written by the registry."""

from typing import ClassVar, Literal

from pydantic import AwareDatetime, NonNegativeInt, PositiveFloat, PositiveInt

from schemas.base import BlobRef, Event, Failure, Preset, Value
from schemas.publishing import Publication
from schemas.search import SearchSpace

RunState = Literal[
    "requested",
    "waiting_data",
    "searching",
    "training",
    "evaluating",
    "registering",
    "succeeded",
    "failed",
    "cancelled",
]


class Budget(Value):
    """How long a run may take. `seconds` is from its start to the registered version; `deadline` is when that ends."""

    preset: Preset
    seconds: PositiveFloat
    deadline: AwareDatetime


class RunStarted(Event):
    """The run has its data; the search for a model begins."""

    TYPE: ClassVar[str] = "easyloop.run.started.v1"

    run_id: str
    dataset_id: str
    version: PositiveInt
    model_id: str
    task: str
    manifest: BlobRef
    budget: Budget
    seed: NonNegativeInt
    space: SearchSpace | None = None


class RunStageChanged(Event):
    """The run moved along its transition table."""

    TYPE: ClassVar[str] = "easyloop.run.stage.changed.v1"

    run_id: str
    previous: RunState
    state: RunState


class RunEnded(Event):
    """The run is over, for good. `model_version` is set exactly when it succeeded, `failure` when it failed."""

    TYPE: ClassVar[str] = "easyloop.run.ended.v1"

    run_id: str
    dataset_id: str
    state: Literal["succeeded", "failed", "cancelled"]
    model_id: str
    model_version: PositiveInt | None = None
    failure: Failure | None = None


class ModelVersionRegistered(Event):
    """A trained and evaluated model has its number; version numbers of a model are consecutive from 1.

    `publication` says whether the model's policy published it at once, and why or why not.
    """

    TYPE: ClassVar[str] = "easyloop.model.version.registered.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    version: PositiveInt
    run_id: str
    bundle: BlobRef
    report: BlobRef
    metrics: dict[str, float]
    publication: Publication | None = None


class ModelAliasChanged(Event):
    """The alias names another version from now on; gateways that serve it load that version."""

    TYPE: ClassVar[str] = "easyloop.model.alias.changed.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    alias: str
    version: PositiveInt
    previous_version: PositiveInt | None
    reason: str
    actor: str
