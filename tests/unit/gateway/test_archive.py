"""The archive: once, without gaps, in pages and as streams."""

import asyncio
import json
from pathlib import Path

import pytest

from schemas.base import Failure
from schemas.catalog import EVENTS
from schemas.deadletter import EventDeadLettered
from schemas.run import ModelAliasChanged, RunEnded, RunStageChanged
from services.gateway.archive import read_page, read_run
from services.gateway.handlers import HANDLERS
from tests.builders import delivered, dispatcher, record_of
from tests.unit.gateway.building import Gateway, is_problem

ENDED = RunEnded(run_id="run_1", dataset_id="ds_1", state="cancelled", model_id="mdl_1")


def a_stage(run_id: str = "run_1") -> RunStageChanged:
    return RunStageChanged(run_id=run_id, previous="searching", state="training")


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path)
    await gateway.has_run("run_1")
    return gateway


async def archived(gateway: Gateway, *events: RunStageChanged | RunEnded) -> None:
    for event in events:
        await HANDLERS[type(event)](delivered(event), gateway.deps)


def test_every_event_is_archived() -> None:
    assert set(HANDLERS) == set(EVENTS.values())


async def test_an_event_is_archived_once_however_often_delivered(gateway: Gateway) -> None:
    deliver = dispatcher(gateway.deps, HANDLERS).deliver
    for event_id in ("evt_a", "evt_a", "evt_b", "evt_a", "evt_b"):
        await deliver(record_of(a_stage(), event_id=event_id))
    page = await read_page(gateway.database, 0, 10)
    assert [(event.seq, event.event_id) for event in page.events] == [(1, "evt_a"), (2, "evt_b")]


async def test_numbers_have_no_gaps_when_gateways_archive_at_once(gateway: Gateway) -> None:
    deliver = dispatcher(gateway.deps, HANDLERS).deliver
    records = [record_of(a_stage(f"run_{n % 3}"), event_id=f"evt_{n // 2}") for n in range(40)]
    await asyncio.gather(*(deliver(record) for record in records))
    await asyncio.gather(*(deliver(record) for record in records))
    page = await read_page(gateway.database, 0, 100)
    assert [event.seq for event in page.events] == list(range(1, 21))
    assert {event.event_id for event in page.events} == {f"evt_{n}" for n in range(20)}


async def test_a_dead_letter_of_a_run_is_one_of_its_events(gateway: Gateway) -> None:
    letter = EventDeadLettered(
        service="hpo", event_id="e", event_type="t", event_key="run_1", topic="x", partition=0, offset=0, attempts=1,
        failure=Failure(code="broken", sentence="It broke; try again."),
    )  # fmt: skip
    await HANDLERS[EventDeadLettered](delivered(letter), gateway.deps)
    assert [event.type for event in await read_run(gateway.database, "run_1", 0)] == [EventDeadLettered.TYPE]


async def test_a_moved_alias_wakes_the_model_pool(gateway: Gateway) -> None:
    moved = ModelAliasChanged(
        model_id="mdl_1", alias="production", version=1, previous_version=None, reason="", actor="policy"
    )
    await HANDLERS[ModelAliasChanged](delivered(moved), gateway.deps)
    await asyncio.wait_for(gateway.deps.aliases_wake.wait(60), 1)


async def test_pages_follow_each_other_and_may_choose_types(gateway: Gateway) -> None:
    await archived(gateway, a_stage(), a_stage("run_2"), ENDED, a_stage("run_2"))
    async with gateway.client() as client:
        first = (await client.get("/v1/events", params={"limit": 3})).json()
        second = (await client.get("/v1/events", params={"after": first["next_after"]})).json()
        chosen = (await client.get("/v1/events", params={"types": ENDED.TYPE})).json()
        beyond = (await client.get("/v1/events", params={"after": 9})).json()
        assert (await client.get("/v1/events", params={"limit": 0})).status_code == 422
    assert [event["seq"] for event in first["events"] + second["events"]] == [1, 2, 3, 4]
    assert (second["next_after"], second["head"]) == (4, 4)
    assert [(event["seq"], event["data"]["state"]) for event in chosen["events"]] == [(3, "cancelled")]
    assert chosen["next_after"] == 4
    assert (beyond["events"], beyond["next_after"]) == ([], 9)


async def streamed(gateway: Gateway, path: str, **headers: str) -> list[int]:
    """The ids of a stream that ends, each checked against its data."""
    async with gateway.client() as client:
        answer = await client.get(path, headers={"Accept": "text/event-stream", **headers})
    assert answer.headers["content-type"].startswith("text/event-stream")
    fields = [line.partition(": ")[::2] for line in answer.text.splitlines() if line and not line.startswith(":")]
    ids = [int(value) for name, value in fields if name == "id"]
    assert [json.loads(value)["seq"] for name, value in fields if name == "data"] == ids
    return ids


async def test_a_runs_stream_ends_with_the_run(gateway: Gateway) -> None:
    await archived(gateway, a_stage(), a_stage("run_2"), ENDED)
    assert await streamed(gateway, "/v1/runs/run_1/events") == [1, 3]


@pytest.mark.parametrize(("last", "expected"), [("1", [3, 4]), ("3", [4]), ("4", [])])
async def test_a_stream_goes_on_after_the_last_event_received(gateway: Gateway, last: str, expected: list[int]) -> None:
    await archived(gateway, a_stage(), a_stage("run_2"), ENDED, a_stage())
    assert await streamed(gateway, "/v1/runs/run_1/events", **{"Last-Event-ID": last}) == expected


async def test_what_is_archived_later_comes_at_once(gateway: Gateway) -> None:
    await archived(gateway, a_stage())
    following = asyncio.create_task(streamed(gateway, "/v1/runs/run_1/events"))
    await asyncio.sleep(0)
    await archived(gateway, a_stage("run_2"), a_stage(), ENDED)
    assert await asyncio.wait_for(following, 5) == [1, 3, 4]


async def test_the_stream_of_all_events_resumes_and_ends_when_the_server_stops(gateway: Gateway) -> None:
    await archived(gateway, a_stage(), a_stage("run_2"), ENDED)
    gateway.stops_after = 1
    assert await streamed(gateway, "/v1/events", **{"Last-Event-ID": "1"}) == [2, 3]


async def test_bad_streams_are_problems(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/runs/run_9/events"), 404, "run_unknown")
        answer = await client.get("/v1/runs/run_1/events", headers={"Last-Event-ID": "x"})
        assert is_problem(answer, 400, "last_event_id_invalid")
