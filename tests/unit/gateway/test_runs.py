"""Runs and their traces."""

import json
from pathlib import Path

import pytest

from schemas.requests import RunCancelRequested, RunRequested
from tests.builders import emitted
from tests.unit.gateway.building import Gateway, is_problem


@pytest.fixture
async def gateway(tmp_path: Path) -> Gateway:
    gateway = Gateway(tmp_path)
    await gateway.has_dataset()
    return gateway


@pytest.mark.parametrize(
    ("statuses", "asked", "taken"),
    [
        (["ready"], None, 1),
        (["ready", "ready"], None, 2),
        (["ready", "rejected"], None, 1),
        (["ready", "open"], None, 1),
        (["rejected", "open"], None, 2),
        (["ready", "ready"], 1, 1),
        (["open"], 1, 1),
    ],
)
async def test_a_run_takes_the_newest_usable_version(
    gateway: Gateway, statuses: list[str], asked: int | None, taken: int
) -> None:
    for number, status in enumerate(statuses, start=1):
        await gateway.has_version(number, status)
    async with gateway.client() as client:
        made = await client.post("/v1/runs", json={"dataset_id": "ds_1", "version": asked, "preset": "balanced"})
        found = await client.get(made.headers["location"])
    assert made.status_code == 202
    assert found.json() == made.json()
    assert (made.json()["version"], made.json()["state"]) == (taken, "requested")
    expected = RunRequested(run_id=made.json()["id"], dataset_id="ds_1", version=taken, preset="balanced")
    assert await emitted(gateway.deps) == [expected]


async def test_what_an_expert_wants_tried_travels_with_the_run(gateway: Gateway) -> None:
    await gateway.has_version(1)
    parameters = {"head": {"choice": ["mlp", "linear"]}, "dropout": {"uniform": [0, 0.5]}, "mirror": True}
    body = {"dataset_id": "ds_1", "space": {"trials": 4, "parameters": parameters}}
    async with gateway.client() as client:
        made = await client.post("/v1/runs", json=body)
    (event,) = await emitted(gateway.deps)
    assert isinstance(event, RunRequested)
    assert event.space is not None
    assert event.space.model_dump(mode="json") == made.json()["space"] == {"trials": 4, "parameters": {
        "head": {"choice": ["mlp", "linear"]}, "dropout": {"uniform": [0.0, 0.5]}, "mirror": True,
    }}  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"uniform": [2, 1]}, "the range [2, 1] is empty"),
        ({"loguniform": [0, 1]}, "must be above 0"),
        ({"choice": []}, "at least 1 item"),
        ({"uniform": [0, 1], "loguniform": [1, 2]}, "Extra inputs are not permitted"),
        ({"normal": [0, 1]}, "Extra inputs are not permitted"),
    ],
)
async def test_a_space_that_means_nothing_is_refused(gateway: Gateway, entry: dict[str, object], told: str) -> None:
    await gateway.has_version(1)
    body = {"dataset_id": "ds_1", "space": {"trials": 4, "parameters": {"dropout": entry}}}
    async with gateway.client() as client:
        refused = await client.post("/v1/runs", json=body)
    assert refused.status_code == 422
    assert told in refused.text
    assert await emitted(gateway.deps) == []


async def test_what_cannot_be_trained_on_is_refused_with_its_reason(gateway: Gateway) -> None:
    async with gateway.client() as client:
        assert is_problem(await client.post("/v1/runs", json={"dataset_id": "ds_1"}), 409, "no_version")
        failure = {"code": "one_class", "sentence": "Only one class; add another."}
        await gateway.has_version(1, "rejected", failure=failure)
        rejected = await client.post("/v1/runs", json={"dataset_id": "ds_1", "version": 1})
        assert is_problem(rejected, 409, "version_rejected")
        assert "add another" in rejected.json()["detail"]
        absent = await client.post("/v1/runs", json={"dataset_id": "ds_1", "version": 7})
        assert is_problem(absent, 404, "version_unknown")
        assert is_problem(await client.post("/v1/runs", json={"dataset_id": "ds_9"}), 404, "dataset_unknown")
    assert await emitted(gateway.deps) == []


async def test_one_key_starts_one_run(gateway: Gateway) -> None:
    await gateway.has_version(1)
    async with gateway.client() as client:
        answers = [
            await client.post("/v1/runs", json={"dataset_id": "ds_1"}, headers={"Idempotency-Key": "k"}) for _ in "12"
        ]
    assert answers[0].json() == answers[1].json()
    assert len(await emitted(gateway.deps)) == 1


async def test_the_registrys_record_beats_the_request_and_lists_merge(gateway: Gateway) -> None:
    await gateway.has_version(1)
    async with gateway.client() as client:
        made = (await client.post("/v1/runs", json={"dataset_id": "ds_1"})).json()
        await gateway.has_run(made["id"], "succeeded", model_version=1, model_id="mdl_1", trigger="request")
        await gateway.has_run("run_auto", created_at="2027-01-01T00:00:00.000Z")
        await gateway.has_run("run_other", dataset_id="ds_2")
        found = (await client.get(f"/v1/runs/{made['id']}")).json()
        listed = (await client.get("/v1/runs", params={"dataset_id": "ds_1"})).json()["items"]
        everything = (await client.get("/v1/runs")).json()["items"]
    assert (found["state"], found["model_version"]) == ("succeeded", 1)
    assert [run["id"] for run in listed] == ["run_auto", made["id"]]
    assert len(everything) == 3


async def test_cancelling_is_idempotent_and_ends_where_it_is_too_late(gateway: Gateway) -> None:
    await gateway.has_run("run_1", "training")
    await gateway.has_run("run_2", "cancelled")
    await gateway.has_run("run_3", "registering")
    await gateway.has_run("run_4", "succeeded")
    async with gateway.client() as client:
        assert (await client.post("/v1/runs/run_1/cancel")).status_code == 202
        assert (await client.post("/v1/runs/run_2/cancel")).json()["state"] == "cancelled"
        assert is_problem(await client.post("/v1/runs/run_3/cancel"), 409, "run_over")
        assert is_problem(await client.post("/v1/runs/run_4/cancel"), 409, "run_over")
        assert is_problem(await client.post("/v1/runs/run_9/cancel"), 404, "run_unknown")
        assert is_problem(await client.get("/v1/runs/run_9"), 404, "run_unknown")
    assert await emitted(gateway.deps) == [RunCancelRequested(run_id="run_1")]


TRACE = "a" * 32


def a_span(name: str, span_id: str, parent: str = "", trace: str = TRACE, start: int = 1) -> dict[str, object]:
    begin = 1_767_225_600_000_000_000 + start * 1_000_000
    times = {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + 2_500_000)}
    attributes = [{"key": "messaging.kafka.offset", "value": {"intValue": "7"}}]
    return {"traceId": trace, "spanId": span_id, "parentSpanId": parent, "name": name, "kind": 4, **times,
            "attributes": attributes, "status": {"code": 2, "message": "bad"}}  # fmt: skip


def a_line(service: str, *spans: dict[str, object]) -> str:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}) + "\n"


async def test_a_trace_is_gathered_from_all_services(gateway: Gateway) -> None:
    folder = gateway.settings.trace_dir
    folder.mkdir(parents=True)
    (folder / "registry-1.jsonl").write_text(a_line("registry", a_span("process", "2", "1", start=5)) + '{"cut')
    strangers = a_line("gateway", a_span("other", "9", trace="b" * 32))
    (folder / "gateway-1.jsonl").write_text(a_line("gateway", a_span("POST", "1")) + strangers)
    await gateway.has_run("run_1", trace_id=TRACE)
    async with gateway.client() as client:
        trace = (await client.get("/v1/runs/run_1/trace")).json()
    assert [(span["service"], span["name"], span["parent_span_id"]) for span in trace["spans"]] == [
        ("gateway", "POST", None),
        ("registry", "process", "1"),
    ]
    first = trace["spans"][0]
    assert (first["duration_ms"], first["kind"], first["status"]) == (2.5, "producer", "error")
    assert first["attributes"] == {"messaging.kafka.offset": 7}
    assert first["start"] == "2026-01-01T00:00:00.001000Z"


async def test_a_run_without_trace_has_no_spans_and_a_collector_is_named(gateway: Gateway, tmp_path: Path) -> None:
    await gateway.has_run("run_1")
    async with gateway.client() as client:
        assert (await client.get("/v1/runs/run_1/trace")).json()["spans"] == []
        assert is_problem(await client.get("/v1/runs/run_9/trace"), 404, "run_unknown")
    elsewhere = Gateway(tmp_path, settings_changes={"otlp_endpoint": "http://collector"})
    await elsewhere.has_run("run_1")
    async with elsewhere.client() as client:
        assert is_problem(await client.get("/v1/runs/run_1/trace"), 404, "trace_elsewhere")
