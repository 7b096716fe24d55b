"""The version that a new model must beat: read from the registry's database, where only the registry writes."""

from dataclasses import dataclass

from chassis.deps import Deps
from chassis.documents.ports import Documents
from schemas.base import BlobRef

PRODUCTION = "production"


@dataclass(frozen=True)
class EvaluatorDeps(Deps):
    """What the evaluator's handlers stand on; `registry` is the registry's database, for reading only."""

    registry: Documents


@dataclass(frozen=True)
class Incumbent:
    """The version behind the alias and its bundle."""

    version: int
    bundle: BlobRef


async def incumbent_of(registry: Documents, model_id: str) -> Incumbent | None:
    """None while the model has no version in production."""
    alias = await registry.get("aliases", f"{model_id}/{PRODUCTION}")
    if alias is None:
        return None
    row = await registry.get("model_versions", f"{model_id}/{alias['version']}")
    return None if row is None else Incumbent(int(row["version"]), BlobRef.model_validate(row["bundle"]))
