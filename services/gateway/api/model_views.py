"""Models, their versions and aliases as callers see them."""

from pydantic import BaseModel, Field

from schemas.base import BlobRef
from schemas.publishing import Publication, PublishPolicy


class Model(BaseModel):
    """What a data set's runs improve. `aliases` maps names that callers use to versions."""

    id: str = Field(examples=["mdl_01JQ8"])
    dataset_id: str
    name: str = Field(description="the name of its data set")
    task: str
    last_version: int
    aliases: dict[str, int] = Field(default={}, examples=[{"production": 2}])
    policy: PublishPolicy = PublishPolicy()
    created_at: str


class ModelList(BaseModel):
    """Models, newest first."""

    items: list[Model]


class ModelVersion(BaseModel):
    """One trained and evaluated model. Immutable; `publication` says why it was or was not published at once."""

    model_id: str
    version: int
    run_id: str
    dataset_id: str
    dataset_version: int
    metrics: dict[str, float]
    publication: Publication | None = None
    bundle: BlobRef
    report: BlobRef
    created_at: str


class ModelVersionList(BaseModel):
    """Versions, newest first."""

    items: list[ModelVersion]


class AliasMove(BaseModel):
    """One line of an alias's history: from `previous_version` to `version`, `actor` who moved it, `reason` why."""

    version: int
    previous_version: int | None
    reason: str
    actor: str
    at: str


class Alias(BaseModel):
    """A name that callers use. `serving_version` is what this gateway answers from, None while nothing is loaded."""

    model_id: str
    alias: str
    version: int
    serving_version: int | None
    moves: list[AliasMove] = Field(default=[], description="newest first")


class AliasList(BaseModel):
    """All aliases of a model."""

    items: list[Alias]


class AliasHistory(BaseModel):
    """The moves of one alias, newest first."""

    items: list[AliasMove]


class AliasRequest(BaseModel):
    """A move that was asked for; the alias names the version once the registry has done it."""

    model_id: str
    alias: str
    version: int
    reason: str
    actor: str = "admin"


class AliasRollback(AliasRequest):
    """A rollback that was asked for: from `from_version` back to `version`."""

    from_version: int
