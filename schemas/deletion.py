"""What people ask to be deleted, and what became of it. Requests are the gateway's; the owner of the thing answers.

`deletion_id` names the deletion, so that whoever asked finds the answer.
"""

from typing import ClassVar

from pydantic import PositiveInt

from schemas.base import Event, Failure, Value


class Deletion(Value):
    """What all of them carry. `actor` is who asked."""

    deletion_id: str
    actor: str = "admin"


class _OfDataset(Deletion, Event):
    KEY: ClassVar[str] = "dataset_id"

    dataset_id: str


class _OfModel(Deletion, Event):
    KEY: ClassVar[str] = "model_id"

    model_id: str


class DatasetDeleteRequested(_OfDataset):
    """Someone asks for a data set to be deleted, with all its versions."""

    TYPE: ClassVar[str] = "easyloop.dataset.delete.requested.v1"


class DatasetDeleted(_OfDataset):
    """The data set is gone for good. Models that were made from it stay."""

    TYPE: ClassVar[str] = "easyloop.dataset.deleted.v1"


class DatasetDeleteRefused(_OfDataset):
    """The data set stays; the reason says what to do first."""

    TYPE: ClassVar[str] = "easyloop.dataset.delete.refused.v1"

    failure: Failure


class DatasetVersionDeleteRequested(_OfDataset):
    """Someone asks for one version of a data set to be deleted."""

    TYPE: ClassVar[str] = "easyloop.dataset.version.delete.requested.v1"

    version: PositiveInt


class DatasetVersionDeleted(_OfDataset):
    """The version is gone for good; its number is never given again."""

    TYPE: ClassVar[str] = "easyloop.dataset.version.deleted.v1"

    version: PositiveInt


class DatasetVersionDeleteRefused(_OfDataset):
    """The version stays; the reason says what to do first."""

    TYPE: ClassVar[str] = "easyloop.dataset.version.delete.refused.v1"

    version: PositiveInt
    failure: Failure


class ModelDeleteRequested(_OfModel):
    """Someone asks for a model to be deleted, with its versions and aliases."""

    TYPE: ClassVar[str] = "easyloop.model.delete.requested.v1"


class ModelDeleted(_OfModel):
    """The model, its versions and its aliases are gone; gateways stop answering from them."""

    TYPE: ClassVar[str] = "easyloop.model.deleted.v1"


class ModelVersionDeleteRequested(_OfModel):
    """Someone asks for one version of a model to be deleted."""

    TYPE: ClassVar[str] = "easyloop.model.version.delete.requested.v1"

    version: PositiveInt


class ModelVersionDeleted(_OfModel):
    """The version is gone for good; its number is never given again."""

    TYPE: ClassVar[str] = "easyloop.model.version.deleted.v1"

    version: PositiveInt


class ModelDeleteRefused(_OfModel):
    """The model, or the version where one is named, stays; the reason says what to do first."""

    TYPE: ClassVar[str] = "easyloop.model.delete.refused.v1"

    version: PositiveInt | None = None
    failure: Failure
