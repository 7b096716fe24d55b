"""/v1/deadletters: events that a service gave up on, and trying them again."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from chassis.clock import rfc3339
from chassis.failures import FailedEvent
from chassis.unit_of_work import UnitOfWork
from schemas.base import Failure
from schemas.deadletter import DeadLetterReplayRequested
from services.gateway.api.context import IdempotencyKey, Stores
from services.gateway.api.datasets import LOCATION
from services.gateway.api.deadletter_reading import (
    Letter,
    dead_letters,
    letter_of,
    waiting_behind,
    why_not_replayed,
)
from services.gateway.api.problems import ApiError, problems, unknown
from services.gateway.deps import GatewayDeps
from services.gateway.writing import Accepted, Call, write_once

router = APIRouter(tags=["operations"])

ServiceName = Literal["gateway", "ingest", "preprocess", "hpo", "trainer", "evaluator", "registry"]
LetterId = Annotated[str, Path(description="id of the dead letter", examples=["fail_01JQ8"])]


class DeadLetter(BaseModel):
    """An event that a service gave up on. `status` is no longer `dead` once it is replayed."""

    id: str = Field(examples=["fail_01JQ8"])
    service: ServiceName = Field(description="whose handler failed")
    status: Literal["dead", "retrying", "parked", "done"]
    event_id: str
    event_type: str = Field(examples=["easyloop.import.requested.v1"])
    key: str = Field(description="the aggregate that the event is about")
    failure: Failure
    attempts: int
    replays: int = Field(description="how often it was tried anew")
    dead_at: str | None = None


class DeadLetterList(BaseModel):
    """Dead letters, newest first. `total` counts those that the limit left out too."""

    items: list[DeadLetter]
    total: int


class Waiting(BaseModel):
    """An event of the same key that waits for another attempt, or behind one that does."""

    id: str
    status: Literal["retrying", "parked"]
    event_id: str
    event_type: str


class DeadLetterDetail(DeadLetter):
    """With the event itself. `obstacle` says why a replay would be refused."""

    topic: str
    partition: int
    offset: int
    headers: dict[str, str] = Field(description="as they came with the event")
    data: dict[str, Any] | str | None = Field(description="what the event says; its text where that is no JSON object")
    waiting: list[Waiting] = Field(description="what waits behind it, in order")
    obstacle: Failure | None = None


class NewReplay(BaseModel):
    """Who asks, for the log."""

    actor: str = Field(default="admin", min_length=1, max_length=100)


class Replay(BaseModel):
    """A replay that was asked for; the service tries again within seconds."""

    id: str
    service: ServiceName
    actor: str


@router.get("/v1/deadletters", summary="List the dead letters")
async def list_dead_letters(
    deps: Stores,
    service: Annotated[ServiceName | None, Query(description="only those of this service")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="most to show")] = 100,
) -> DeadLetterList:
    """Newest first."""
    letters = await dead_letters(deps, service)
    return DeadLetterList(items=[DeadLetter(**_facts(letter)) for letter in letters[:limit]], total=len(letters))


@router.get("/v1/deadletters/{failure_id}", summary="Show a dead letter", responses=problems(404))
async def get_dead_letter(failure_id: LetterId, deps: Stores) -> DeadLetterDetail:
    """With the event, what waits behind it, and what stands in the way of a replay. Also after a replay."""
    letter = await _find(deps, failure_id)
    row = letter.row
    return DeadLetterDetail(
        **_facts(letter),
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        headers=letter.headers,
        data=letter.data,
        waiting=[_waiting(one) for one in await waiting_behind(deps, letter)],
        obstacle=await why_not_replayed(deps, letter),
    )


@router.post(
    "/v1/deadletters/{failure_id}/replay",
    status_code=202,
    summary="Replay a dead letter",
    responses={**LOCATION, **problems(404, 409, 422)},
)
async def replay_dead_letter(
    failure_id: LetterId, deps: Stores, response: Response, body: NewReplay | None = None, key: IdempotencyKey = None
) -> Replay:
    """The service tries again from the first attempt; what fails again is dead again. No effect happens twice."""
    asked = body or NewReplay()

    async def write(tx: UnitOfWork) -> Accepted:
        letter = await _find(deps, failure_id)
        if obstacle := await why_not_replayed(deps, letter):
            raise ApiError(409, obstacle.code, obstacle.sentence)
        replay = Replay(id=failure_id, service=letter.service, actor=asked.actor)
        tx.emit(DeadLetterReplayRequested(service=letter.service, failure_id=failure_id, actor=asked.actor))
        return Accepted(f"/v1/deadletters/{failure_id}", replay.model_dump())

    call = Call.of(key, "POST", f"/v1/deadletters/{failure_id}/replay", asked.model_dump())
    accepted = await write_once(deps, call, write)
    response.headers["Location"] = accepted.location
    return Replay.model_validate(accepted.answer)


async def _find(deps: GatewayDeps, failure_id: str) -> Letter:
    letter = await letter_of(deps, failure_id)
    if letter is None:
        raise unknown("dead letter", failure_id, "/v1/deadletters")
    return letter


def _facts(letter: Letter) -> dict[str, Any]:
    row = letter.row
    shown = {"id", "status", "event_id", "event_type", "key", "attempts", "replays"}
    return {
        **row.model_dump(include=shown),
        "service": letter.service,
        "failure": Failure(code=row.code, sentence=row.sentence) if row.code else _NONE_YET,
        "dead_at": rfc3339(row.dead_at) if row.dead_at else None,
    }


_NONE_YET = Failure(code="not_tried", sentence="It was not tried yet.")


def _waiting(row: FailedEvent) -> Waiting:
    return Waiting.model_validate(row.model_dump(include={"id", "status", "event_id", "event_type"}))
