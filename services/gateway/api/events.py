"""/v1/events and /v1/runs/{id}/events: the archive, as pages and as server-sent events (WHATWG HTML, section 9.2)."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, Field
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse

from schemas.run import RunEnded
from services.gateway.api.context import ApiContext, Context
from services.gateway.api.problems import ApiError, problems
from services.gateway.api.runs import RunId, find_run
from services.gateway.archive import ArchivedEvent, Page, read_page, read_run

router = APIRouter(tags=["events"])

POLL_S = 0.5
HEARTBEAT_S = 15
PAGE_MOST = 1000
NUMBER_MOST = 2**53 - 1  # what every JSON reader holds exactly
STREAM = "text/event-stream"

LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="resume after this sequence number; beats `after`")
]
After = Annotated[int, Query(ge=0, le=NUMBER_MOST, description="only events with a sequence number above this one")]


class EventEntry(BaseModel):
    """One archived event. `seq` numbers the archive without gaps; `data` is the event as its schema says."""

    seq: int
    event_id: str
    type: str = Field(examples=["easyloop.run.ended.v1"])
    key: str
    run_id: str | None
    time: str
    data: dict[str, Any]


class EventPage(BaseModel):
    """Events in order. Ask again with `after` = `next_after`; at the end of the archive it equals `head`."""

    events: list[EventEntry]
    next_after: int
    head: int


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: id = sequence number, event = type, data = the entry as JSON",
        "content": {STREAM: {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/v1/events",
    summary="Read the archive of events",
    response_model=EventPage,
    responses={**STREAMED, **problems(400, 422)},
)
async def read_events(
    request: Request,
    context: Context,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE_MOST)] = 200,
    types: Annotated[str | None, Query(description="event types, separated by commas")] = None,
    last_event_id: LastEventId = None,
) -> Response | EventPage:
    """A page as JSON; with `Accept: text/event-stream` everything after `after`, then what comes."""
    wanted = frozenset(one.strip() for one in (types or "").split(",") if one.strip())
    if STREAM in request.headers.get("accept", ""):
        return _stream(_all_events(context, _start(after, last_event_id), wanted))
    page = await read_page(context.deps.database, after, limit, wanted)
    entries = [_entry(event) for event in page.events]
    return EventPage(events=entries, next_after=page.next_after, head=page.head)


@router.get(
    "/v1/runs/{run_id}/events",
    summary="Follow a run",
    response_class=Response,
    responses={**STREAMED, **problems(400, 404, 422)},
)
async def follow_run(run_id: RunId, context: Context, after: After = 0, last_event_id: LastEventId = None) -> Response:
    """Server-sent events: everything archived for the run, then what comes; ends after the run's end."""
    await find_run(context.deps, run_id)
    return _stream(_run_events(context, run_id, _start(after, last_event_id)))


async def _all_events(context: ApiContext, after: int, types: frozenset[str]) -> AsyncIterator[ServerSentEvent]:
    async def read(position: int) -> Page:
        return await read_page(context.deps.database, position, PAGE_MOST, types)

    async for event in _follow(context, after, read):
        yield _sse(event)


async def _run_events(context: ApiContext, run_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    async def read(position: int) -> Page:
        events = await read_run(context.deps.database, run_id, position)
        newest = events[-1].seq if events else position
        return Page(events, newest, newest)

    if await _ended_by(context, run_id, after):
        for event in (await read(after)).events:  # what came after the end, e.g. a late progress of another topic
            yield _sse(event)
        return
    async for event in _follow(context, after, read, last=RunEnded.TYPE):
        yield _sse(event)


async def _ended_by(context: ApiContext, run_id: str, after: int) -> bool:
    """Whether a caller who resumes after `after` has seen the run's end, so that nothing is left to wait for."""
    if after == 0:
        return False
    events = await read_run(context.deps.database, run_id, 0)
    return any(event.type == RunEnded.TYPE and event.seq <= after for event in events)


async def _follow(
    context: ApiContext,
    after: int,
    read: Callable[[int], Awaitable[Page]],
    last: str | None = None,
) -> AsyncIterator[ArchivedEvent]:
    """Everything after `after`, then what comes; with `last`, up to the page that holds an event of that type."""
    position = after
    while not context.stopping():
        page = await read(position)
        for event in page.events:
            yield event
        position = page.next_after
        if any(event.type == last for event in page.events):
            return
        if page.next_after >= page.head:
            await context.deps.archived.wait(POLL_S)


def _stream(events: AsyncIterator[ServerSentEvent]) -> EventSourceResponse:
    return EventSourceResponse(events, ping=HEARTBEAT_S, headers={"Cache-Control": "no-store"})


def _start(after: int, last_event_id: str | None) -> int:
    if not last_event_id:
        return after
    is_number = len(last_event_id) < 20 and last_event_id.isascii() and last_event_id.isdigit()
    if not is_number or int(last_event_id) > NUMBER_MOST:
        detail = f"Last-Event-ID {last_event_id[:40]!r} is no sequence number; send the id of the last event received."
        raise ApiError(400, "last_event_id_invalid", detail)
    return int(last_event_id)


def _entry(event: ArchivedEvent) -> EventEntry:
    return EventEntry.model_validate(event.model_dump())


def _sse(event: ArchivedEvent) -> ServerSentEvent:
    data = json.dumps(_entry(event).model_dump(mode="json"), ensure_ascii=False)
    return ServerSentEvent(data=data, id=str(event.seq), event=event.type)
