"""Which version answers callers: moving aliases by hand, going back, and the policy for new versions."""

import logging
from collections.abc import Sequence

from chassis.deps import Deps
from chassis.unit_of_work import UnitOfWork
from schemas.publishing import AliasRollbackRequested, ModelPolicyChanged, PolicySetRequested
from schemas.requests import AliasMoveRequested
from schemas.run import ModelAliasChanged
from services.registry.records import Alias, AliasMove, Model, ModelVersion

log = logging.getLogger(__name__)


async def move_alias_by_hand(event: AliasMoveRequested, deps: Deps) -> None:
    """The alias names the version that someone chose; one that does not exist changes nothing."""
    async with deps.unit_of_work(cause=event) as tx:
        version = await tx.records(ModelVersion).get(f"{event.model_id}/{event.version}")
        if version is None:
            log.info("%s of %s stays: version %d is gone", event.alias, event.model_id, event.version)
            return
        await move_alias(tx, deps, version, event.alias, reason=event.reason, actor=event.actor)


async def roll_alias_back(event: AliasRollbackRequested, deps: Deps) -> None:
    """The alias names the version before its last move, unless it moved since someone asked or that version is gone."""
    async with deps.unit_of_work(cause=event) as tx:
        alias = await tx.records(Alias).get(f"{event.model_id}/{event.alias}")
        if alias is None or alias.version != event.from_version:
            log.info("%s of %s moved meanwhile; it is not rolled back", event.alias, event.model_id)
            return
        moves = await tx.records(AliasMove).find({"model_id": event.model_id, "alias": event.alias})
        number = version_before(moves)
        version = None if number is None else await tx.records(ModelVersion).get(f"{event.model_id}/{number}")
        if version is None:
            log.info("%s of %s stays: there is no version to go back to", event.alias, event.model_id)
            return
        reason = event.reason or f"rolled back from version {event.from_version}"
        await move_alias(tx, deps, version, event.alias, reason=reason, actor=event.actor)


async def set_policy(event: PolicySetRequested, deps: Deps) -> None:
    """For versions registered from now on; what is published stays."""
    async with deps.unit_of_work(cause=event) as tx:
        model = await tx.records(Model).get(event.model_id)
        if model is None or model.deleted_at is not None or model.policy == event.policy:
            return
        await tx.records(Model).save(model.changed(policy=event.policy))
        tx.emit(
            ModelPolicyChanged(
                project_id=model.project_id,
                model_id=model.id,
                policy=event.policy,
                previous=model.policy,
                actor=event.actor,
            )
        )


def version_before(moves: Sequence[AliasMove]) -> int | None:
    """The version that the last of an alias's moves came from; None where there was none."""
    last = max(moves, key=lambda move: (move.at, move.id), default=None)
    return None if last is None else last.previous_version


async def move_alias(tx: UnitOfWork, deps: Deps, version: ModelVersion, alias: str, *, reason: str, actor: str) -> None:
    """Point the alias at the version and write the move down; moving it to where it is changes nothing."""
    alias_id = f"{version.model_id}/{alias}"
    before = await tx.records(Alias).get(alias_id)
    if before is not None and before.version == version.version:
        return
    shared = {
        "model_id": version.model_id,
        "alias": alias,
        "version": version.version,
        "project_id": version.project_id,
    }
    story = {"previous_version": before.version if before else None, "reason": reason, "actor": actor}
    await tx.records(Alias).save(Alias.model_validate({"id": alias_id, **shared}))
    await tx.records(AliasMove).add(
        AliasMove.model_validate({"id": deps.ids.new("move"), **shared, **story, "at": deps.clock.now()})
    )
    tx.emit(ModelAliasChanged.model_validate({**shared, **story}))
