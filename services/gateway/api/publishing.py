"""/v1/models/{id}/aliases and /policy: which version answers callers, how it came to that, and how to go back."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from chassis.unit_of_work import UnitOfWork
from schemas.base import Event
from schemas.publishing import AliasRollbackRequested, PolicySetRequested, PublishPolicy
from schemas.requests import AliasMoveRequested
from services.gateway.api.context import Context, IdempotencyKey, Stores
from services.gateway.api.datasets import LOCATION
from services.gateway.api.model_views import Alias, AliasHistory, AliasList, AliasMove, AliasRequest, AliasRollback
from services.gateway.api.models import ModelId, find_model, find_version
from services.gateway.api.problems import ApiError, problems, unknown
from services.gateway.deps import GatewayDeps
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["models"])

AliasName = Annotated[str, Path(pattern=r"^[a-z][a-z0-9_-]{0,62}$", examples=["production"])]
Actor = Annotated[str, Field(min_length=1, max_length=100, description="who asks, for the history", examples=["ann"])]
Reason = Annotated[str, Field(max_length=1000, description="why, for the history", examples=["misses small cracks"])]


class NewAliasVersion(BaseModel):
    """Which version the alias should name, and why."""

    version: PositiveInt
    reason: Reason = ""
    actor: Actor = "admin"


class Rollback(BaseModel):
    """Why the alias should go back. With `from_version` it is refused where another one is published by now."""

    reason: Reason = ""
    actor: Actor = "admin"
    from_version: PositiveInt | None = None


class NewPolicy(PublishPolicy):
    """The whole policy; what is left out gets its default. A field of another name is refused."""

    model_config = ConfigDict(extra="forbid")

    actor: Actor = "admin"


@router.get("/v1/models/{model_id}/aliases", summary="List a model's aliases", responses=problems(404))
async def list_aliases(model_id: ModelId, context: Context) -> AliasList:
    """With the history of each: what was in production, since when, and why."""
    deps = context.deps
    await find_model(deps, model_id)
    moves = _newest_first(await deps.registry.find("alias_moves", {"model_id": model_id}))
    rows = await deps.registry.find("aliases", {"model_id": model_id})
    return AliasList(
        items=[_alias_view(context, row, moves) for row in sorted(rows, key=lambda row: str(row["alias"]))]
    )


@router.put(
    "/v1/models/{model_id}/aliases/{alias}",
    status_code=202,
    summary="Publish a version",
    responses={**LOCATION, **problems(404, 422)},
)
async def move_alias(
    model_id: ModelId,
    alias: AliasName,
    body: NewAliasVersion,
    deps: Stores,
    response: Response,
    key: IdempotencyKey = None,
) -> AliasRequest:
    """Gateways answer from that version within seconds, without a request noticing."""
    await find_version(deps, model_id, body.version)
    asked = AliasRequest(model_id=model_id, alias=alias, **body.model_dump())
    call = Call.of(key, "PUT", f"/v1/models/{model_id}/aliases/{alias}", body.model_dump())
    event = AliasMoveRequested(**asked.model_dump())
    accepted = await _ask(deps, call, event, f"/v1/models/{model_id}/aliases", asked)
    response.headers["Location"] = accepted.location
    return AliasRequest.model_validate(accepted.answer)


@router.get(
    "/v1/models/{model_id}/aliases/{alias}/history", summary="Show an alias's history", responses=problems(404, 422)
)
async def get_history(
    model_id: ModelId,
    alias: AliasName,
    deps: Stores,
    limit: Annotated[int, Query(ge=1, le=1000, description="most moves to show")] = 100,
) -> AliasHistory:
    """Newest first: from which version to which, who moved it, when and why."""
    await find_model(deps, model_id)
    moves = await _moves(deps, model_id, alias)
    if not moves:
        raise unknown("alias", alias, f"/v1/models/{model_id}/aliases")
    return AliasHistory(items=[AliasMove.model_validate(move) for move in moves[:limit]])


@router.post(
    "/v1/models/{model_id}/aliases/{alias}/rollback",
    status_code=202,
    summary="Roll back",
    responses={**LOCATION, **problems(404, 409, 422)},
)
async def roll_back(
    model_id: ModelId,
    alias: AliasName,
    body: Rollback,
    deps: Stores,
    response: Response,
    key: IdempotencyKey = None,
) -> AliasRollback:
    """To the version before the alias's last move; rolling back that move too returns to where it was."""
    await find_model(deps, model_id)
    address = f"/v1/models/{model_id}/aliases/{alias}"

    async def write(tx: UnitOfWork) -> Accepted:
        asked = await _rollback(deps, model_id, alias, body)
        tx.emit(AliasRollbackRequested(**asked.model_dump(exclude={"version"})))
        return Accepted(f"{address}/history", asked.model_dump())

    accepted = await write_once(deps, Call.of(key, "POST", f"{address}/rollback", body.model_dump()), write)
    response.headers["Location"] = accepted.location
    return AliasRollback.model_validate(accepted.answer)


@router.get("/v1/models/{model_id}/policy", summary="Show a model's publishing policy", responses=problems(404))
async def get_policy(model_id: ModelId, deps: Stores) -> PublishPolicy:
    """When a new version goes to production by itself."""
    return PublishPolicy.model_validate((await find_model(deps, model_id)).get("policy", {}))


@router.put(
    "/v1/models/{model_id}/policy",
    status_code=202,
    summary="Set a model's publishing policy",
    responses={**LOCATION, **problems(404, 422)},
)
async def set_policy(
    model_id: ModelId, body: NewPolicy, deps: Stores, response: Response, key: IdempotencyKey = None
) -> PublishPolicy:
    """For versions that are made from now on; what is published stays."""
    await find_model(deps, model_id)
    await _refuse_unknown_metrics(deps, model_id, body)
    policy = PublishPolicy.model_validate(body.model_dump(exclude={"actor"}))
    address = f"/v1/models/{model_id}/policy"
    event = PolicySetRequested(model_id=model_id, policy=policy, actor=body.actor)
    accepted = await _ask(deps, Call.of(key, "PUT", address, body.model_dump()), event, address, policy)
    response.headers["Location"] = accepted.location
    return PublishPolicy.model_validate(accepted.answer)


async def _ask(deps: GatewayDeps, call: Call, event: Event, location: str, answer: BaseModel) -> Accepted:
    async def write(tx: UnitOfWork) -> Accepted:
        tx.emit(event)
        return Accepted(location, answer.model_dump())

    return await write_once(deps, call, write)


async def _rollback(deps: GatewayDeps, model_id: str, alias: str, body: Rollback) -> AliasRollback:
    """Raises the 404 problem of an alias that is not there, and the 409 problem where there is no way back."""
    address = f"/v1/models/{model_id}/aliases/{alias}"
    row = await deps.registry.get("aliases", f"{model_id}/{alias}")
    if row is None:
        raise unknown("alias", alias, f"/v1/models/{model_id}/aliases")
    if body.from_version not in {None, row["version"]}:
        sentence = f"{alias} of {model_id} names version {row['version']} by now, not {body.from_version}"
        raise ApiError(409, "alias_moved", f"{sentence}; see {address}/history.")
    moves = await _moves(deps, model_id, alias)
    number: int | None = moves[0]["previous_version"] if moves else None
    if number is None:
        sentence = f"{alias} of {model_id} has named no other version before; publish one by its number"
        raise ApiError(409, "rollback_impossible", f"{sentence}: PUT {address}.")
    if await deps.registry.get("model_versions", f"{model_id}/{number}") is None:
        sentence = f"{alias} of {model_id} named version {number} before, which is deleted; publish one by its number"
        raise ApiError(409, "rollback_impossible", f"{sentence}: PUT {address}.")
    story = {"from_version": row["version"], "reason": body.reason, "actor": body.actor}
    return AliasRollback(model_id=model_id, alias=alias, version=number, **story)


async def _refuse_unknown_metrics(deps: GatewayDeps, model_id: str, policy: PublishPolicy) -> None:
    known = {
        name for row in await deps.registry.find("model_versions", {"model_id": model_id}) for name in row["metrics"]
    }
    asked = [name for name in (policy.metric, *policy.protect) if name is not None and name not in known]
    if known and asked:
        sentence = f"No version of model {model_id} was judged by {asked[0]}; there are {', '.join(sorted(known))}."
        raise ApiError(422, "metric_unknown", sentence)


async def _moves(deps: GatewayDeps, model_id: str, alias: str) -> list[dict[str, Any]]:
    return _newest_first(await deps.registry.find("alias_moves", {"model_id": model_id, "alias": alias}))


def _newest_first(moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(moves, key=lambda row: (row["at"], row["_id"]), reverse=True)


def _alias_view(context: Context, row: dict[str, Any], moves: list[dict[str, Any]]) -> Alias:
    served = context.models.find(row["model_id"], row["alias"])
    own = [AliasMove.model_validate(move) for move in moves if move["alias"] == row["alias"]]
    return Alias(
        model_id=row["model_id"],
        alias=row["alias"],
        version=row["version"],
        serving_version=served.version if served else None,
        moves=own,
    )
