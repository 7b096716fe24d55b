"""What must not be deleted now, as far as the gateway can see; the owner of the thing judges again.

Each raises the 409 problem that names what is in the way.
"""

from datetime import datetime, timedelta

from chassis.documents.ports import Documents
from chassis.records import Repository
from schemas.base import Failure
from services.deletion_outcomes import run_under_way
from services.gateway.api.data_reading import list_versions
from services.gateway.api.problems import ApiError
from services.gateway.deps import GatewayDeps
from services.gateway.requests import DeletionRequest, ImportRequest, RunRequest

ON_ITS_WAY = timedelta(minutes=10)
"""A request this young may still reach its owner; an older one has failed, or is for the owner to judge."""


async def refuse_dataset_in_use(deps: GatewayDeps, own: Documents, dataset_id: str) -> None:
    """An import, a version or a run under way. `own` is the gateway's database, within the transaction that decides."""
    for row in await deps.ingest.find("imports", {"dataset_id": dataset_id}):
        if row["status"] == "accepted":
            raise _import_under_way(row["_id"], row["file_name"])
    for asked in await Repository(own, ImportRequest).find({"dataset_id": dataset_id}):
        if _is_young(asked.created_at, deps) and await deps.ingest.get("imports", asked.id) is None:
            raise _import_under_way(asked.id, asked.file_name)
    await refuse_version_open(deps, dataset_id)
    await refuse_run_under_way(deps, own, dataset_id)


async def refuse_version_open(deps: GatewayDeps, dataset_id: str) -> None:
    """A version that is being prepared builds upon those before it."""
    numbers = [view.version for view in await list_versions(deps, dataset_id) if view.status == "open"]
    if numbers:
        sentence = f"Version {min(numbers)} of data set {dataset_id} is being prepared; wait until it is ready."
        raise ApiError(409, "version_under_way", sentence)


async def refuse_run_under_way(deps: GatewayDeps, own: Documents, dataset_id: str, version: int | None = None) -> None:
    """A run needs its data, and adds a version to its model."""
    if failure := await run_under_way(deps.registry, dataset_id, version):
        raise _in_the_way(failure)
    of_version = {} if version is None else {"version": version}
    for asked in await Repository(own, RunRequest).find({"dataset_id": dataset_id, **of_version}):
        if _is_young(asked.created_at, deps) and await deps.registry.get("runs", asked.id) is None:
            sentence = f"Run {asked.id} was asked for; cancel it or wait for its end, then delete."
            raise _in_the_way(Failure(code="run_under_way", sentence=sentence))


async def refuse_published(deps: GatewayDeps, model_id: str, version: int) -> None:
    """A version that an alias names answers callers."""
    rows = await deps.registry.find("aliases", {"model_id": model_id})
    names = sorted(str(row["alias"]) for row in rows if row["version"] == version)
    if names:
        sentence = (
            f"Version {version} of model {model_id} is published as {', '.join(names)}; publish another version there "
            f"first: PUT /v1/models/{model_id}/aliases/{names[0]}."
        )
        raise ApiError(409, "alias_names_version", sentence)


async def refuse_while_deleting(deps: GatewayDeps, own: Documents, dataset_id: str) -> None:
    """Nothing is added to a data set whose deletion was asked for and is not answered yet."""
    if (asked := await deletion_under_way(deps, own, dataset_id)) is not None:
        sentence = f"Data set {dataset_id} is being deleted; see /v1/deletions/{asked.id}."
        raise ApiError(409, "being_deleted", sentence)


async def deletion_under_way(deps: GatewayDeps, own: Documents, target: str) -> DeletionRequest | None:
    """The deletion of this very thing that its owner has not answered yet."""
    for asked in await Repository(own, DeletionRequest).find({"target": target}):
        if await deps.read[asked.owner].get("deletions", asked.id) is None:
            return asked
    return None


def _is_young(created_at: str, deps: GatewayDeps) -> bool:
    return deps.clock.now() - datetime.fromisoformat(created_at) < ON_ITS_WAY


def _import_under_way(import_id: str, file_name: str) -> ApiError:
    sentence = f"Import {import_id} ({file_name}) is being read; wait until it has ended, then delete."
    return ApiError(409, "import_under_way", sentence)


def _in_the_way(failure: Failure) -> ApiError:
    return ApiError(409, failure.code, failure.sentence)
