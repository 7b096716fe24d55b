"""Dead letters of all services over the API: listed, shown with what they are about, asked to be replayed."""

from dataclasses import replace
from pathlib import Path

import pytest

from chassis.deps import Deps
from chassis.errors import PermanentError
from chassis.failures import FailedEvent
from chassis.ids import FakeIds
from chassis.records import Repository
from schemas.base import Event
from schemas.deadletter import DeadLetterReplayRequested
from schemas.deletion import DatasetDeleted
from schemas.requests import DatasetRequested, RunCancelRequested, RunRequested
from schemas.run import RunEnded
from services.gateway.handlers import HANDLERS
from tests.builders import build_deps, dispatcher, emitted, record_of
from tests.unit.gateway.building import T0, Gateway, is_problem

REQUEST = DatasetRequested(dataset_id="ds_1", name="fruit", task="image_classification")


class Letters:
    """Events of which services have despaired."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._ids = FakeIds()

    async def died(self, service: str, event: Event, value: bytes | None = None) -> str:
        """The id of the dead letter."""
        database = self.gateway.database if service == "gateway" else self.gateway.databases[service]
        deps = replace(build_deps(service, database, self.gateway.clock), ids=self._ids)
        before = {row.id for row in await Repository(database, FailedEvent).find({})}
        record = record_of(event)
        if value is not None:
            record = replace(record, value=value)
        await dispatcher(deps, {type(event): _refuse}).deliver(record)
        [made] = [row.id for row in await Repository(database, FailedEvent).find({}) if row.id not in before]
        return made


async def _refuse(event: Event, deps: Deps) -> None:
    raise PermanentError("missing", "It is not there; make it.")


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


@pytest.fixture
def letters(gateway: Gateway) -> Letters:
    return Letters(gateway)


async def test_dead_letters_of_all_services_are_listed_newest_first(gateway: Gateway, letters: Letters) -> None:
    made = [await letters.died(service, REQUEST) for service in ("ingest", "hpo", "gateway", "ingest")]
    async with gateway.client() as client:
        everything = (await client.get("/v1/deadletters")).json()
        two = (await client.get("/v1/deadletters", params={"limit": 2})).json()
        of_ingest = (await client.get("/v1/deadletters", params={"service": "ingest"})).json()
        assert is_problem(await client.get("/v1/deadletters", params={"service": "x"}), 422, "request_invalid")
    assert [one["id"] for one in everything["items"]] == made[::-1]
    assert ([one["id"] for one in two["items"]], two["total"]) == (made[:1:-1], 4)
    assert [one["id"] for one in of_ingest["items"]] == [made[3], made[0]]
    first = everything["items"][-1]
    assert (first["service"], first["status"], first["key"], first["attempts"]) == ("ingest", "dead", "ds_1", 1)
    assert first["failure"] == {"code": "missing", "sentence": "It is not there; make it."}
    assert first["dead_at"] == T0


async def test_one_is_shown_with_its_event_and_what_waits_behind_it(gateway: Gateway, letters: Letters) -> None:
    dead = await letters.died("ingest", REQUEST)
    row = await Repository(gateway.ingest, FailedEvent).get(dead)
    assert row is not None
    for number, status in ((9, "parked"), (8, "retrying"), (7, "done")):
        await Repository(gateway.ingest, FailedEvent).save(row.changed(id=f"fail_{number:06d}", status=status))
    async with gateway.client() as client:
        shown = (await client.get(f"/v1/deadletters/{dead}")).json()
        assert is_problem(await client.get("/v1/deadletters/fail_9"), 404, "dead_letter_unknown")
    assert shown["data"] == REQUEST.model_dump()
    assert (shown["headers"]["ce_type"], shown["topic"], shown["offset"]) == (REQUEST.TYPE, "test.events", 0)
    assert [(one["id"], one["status"]) for one in shown["waiting"]] == [
        ("fail_000008", "retrying"),
        ("fail_000009", "parked"),
    ]
    assert shown["obstacle"] is None


@pytest.mark.parametrize(("value", "shown"), [(b"\xff no json", "\ufffd no json"), (b"[1]", "[1]")])
async def test_what_is_no_event_is_shown_as_text(gateway: Gateway, letters: Letters, value: bytes, shown: str) -> None:
    dead = await letters.died("ingest", REQUEST, value)
    async with gateway.client() as client:
        answer = (await client.get(f"/v1/deadletters/{dead}")).json()
    assert (answer["data"], answer["failure"]["code"], answer["obstacle"]) == (shown, "malformed_event", None)


async def test_a_replay_is_asked_of_the_service_that_gave_up(gateway: Gateway, letters: Letters) -> None:
    dead = await letters.died("ingest", REQUEST)
    async with gateway.client() as client:
        headers = {"Idempotency-Key": "k"}
        answers = [
            await client.post(f"/v1/deadletters/{dead}/replay", json={"actor": "ann"}, headers=headers)
            for _ in range(2)
        ]
        without_body = await client.post(f"/v1/deadletters/{dead}/replay")
        assert is_problem(await client.post("/v1/deadletters/fail_9/replay"), 404, "dead_letter_unknown")
    assert [answer.status_code for answer in (*answers, without_body)] == [202, 202, 202]
    assert answers[0].json() == answers[1].json() == {"id": dead, "service": "ingest", "actor": "ann"}
    assert answers[0].headers["location"] == f"/v1/deadletters/{dead}"
    asked = [DeadLetterReplayRequested(service="ingest", failure_id=dead, actor=actor) for actor in ("ann", "admin")]
    assert await emitted(gateway.deps) == asked


async def test_what_is_being_tried_again_is_not_replayed_but_still_shown(gateway: Gateway, letters: Letters) -> None:
    dead = await letters.died("ingest", REQUEST)
    row = await Repository(gateway.ingest, FailedEvent).get(dead)
    assert row is not None
    for status in ("retrying", "done"):
        await Repository(gateway.ingest, FailedEvent).save(row.changed(status=status))
        async with gateway.client() as client:
            refused = await client.post(f"/v1/deadletters/{dead}/replay")
            shown = (await client.get(f"/v1/deadletters/{dead}")).json()
            assert (await client.get("/v1/deadletters")).json()["items"] == []
        assert is_problem(refused, 409, "deadletter_not_dead")
        assert (shown["status"], shown["obstacle"]["code"]) == (status, "deadletter_not_dead")


A_CANCEL = RunCancelRequested(run_id="run_1")
AN_END = RunEnded(run_id="run_1", dataset_id="ds_1", state="cancelled", model_id="mdl_1")


@pytest.mark.parametrize(
    ("service", "event", "state", "code"),
    [
        ("registry", A_CANCEL, "failed", "run_over"),
        ("registry", A_CANCEL, "succeeded", "run_over"),
        ("registry", A_CANCEL, "training", None),
        ("registry", RunRequested(run_id="run_2", dataset_id="ds_1", version=1), "failed", None),
        ("hpo", AN_END, "cancelled", None),
        ("gateway", A_CANCEL, "failed", None),
    ],
)
async def test_an_event_of_a_run_that_is_over_is_not_replayed_unless_it_is_about_its_end(
    gateway: Gateway, letters: Letters, service: str, event: Event, state: str, code: str | None
) -> None:
    await gateway.has_run(state=state)
    dead = await letters.died(service, event)
    async with gateway.client() as client:
        answer = await client.post(f"/v1/deadletters/{dead}/replay")
    assert answer.status_code == 202 if code is None else is_problem(answer, 409, code)


@pytest.mark.parametrize(
    ("event", "code"),
    [(REQUEST, "dataset_deleted"), (DatasetDeleted(deletion_id="del_1", dataset_id="ds_1"), None)],
)
async def test_an_event_of_a_deleted_data_set_is_not_replayed_unless_it_is_about_deleting(
    gateway: Gateway, letters: Letters, event: Event, code: str | None
) -> None:
    await gateway.has_dataset(deleted_at=T0)
    dead = await letters.died("preprocess", event)
    async with gateway.client() as client:
        answer = await client.post(f"/v1/deadletters/{dead}/replay")
    assert answer.status_code == 202 if code is None else is_problem(answer, 409, code)


async def test_the_gateway_replays_its_own_and_archives_who_asked(gateway: Gateway, letters: Letters) -> None:
    dead = await letters.died("gateway", REQUEST)
    bus = dispatcher(gateway.deps, HANDLERS)
    await bus.deliver(record_of(DeadLetterReplayRequested(service="gateway", failure_id=dead, actor="ann")))
    await bus.deliver(record_of(DeadLetterReplayRequested(service="ingest", failure_id="fail_9", actor="bob")))
    assert await bus.retry_due() == 1
    async with gateway.client() as client:
        archived = (await client.get("/v1/events")).json()["events"]
        assert (await client.get("/v1/deadletters")).json() == {"items": [], "total": 0}
    assert [one["type"] for one in archived] == [DeadLetterReplayRequested.TYPE] * 2 + [REQUEST.TYPE]
    assert archived[0]["data"]["actor"] == "ann"
