"""Dead letters on the command line, over a platform that answers from a table."""

import httpx
import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from tests.unit.easyloop.platform import T0, FakePlatform, a_problem

FAILURE = {"code": "dataset_unknown", "sentence": "There is no data set ds_1; create it first, then import."}
LETTER = {"id": "fail_1", "service": "ingest", "status": "dead", "event_id": "evt_1", "attempts": 1, "replays": 0,
          "event_type": "easyloop.import.requested.v1", "key": "ds_1", "failure": FAILURE, "dead_at": T0}  # fmt: skip
DETAIL = {**LETTER, "topic": "gateway.requests", "partition": 2, "offset": 7, "headers": {"ce_id": "evt_1"},
          "data": {"dataset_id": "ds_1"}, "waiting": [], "obstacle": None}  # fmt: skip
ASKED = httpx.Response(202, json={"id": "fail_1", "service": "ingest", "actor": "ann"})


@pytest.fixture
def platform() -> FakePlatform:
    platform = FakePlatform()
    platform.on("GET /v1/deadletters", {"items": [{**LETTER, "id": "fail_2"}, LETTER], "total": 2})
    for name in ("fail_1", "fail_2"):
        platform.on(f"GET /v1/deadletters/{name}", {**DETAIL, "id": name})
        platform.on(f"POST /v1/deadletters/{name}/replay", ASKED)
    return platform


def call(platform: FakePlatform, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["dlq", *arguments], obj=platform.client, env={"USER": "ann"})


def replayed(platform: FakePlatform) -> list[str]:
    return [request.url.path.split("/")[3] for request in platform.asked if request.method == "POST"]


def test_they_are_listed_with_their_reason(platform: FakePlatform) -> None:
    lines = call(platform, "list", "--service", "ingest").output.splitlines()
    assert lines[1] == f"fail_1\tingest\teasyloop.import.requested.v1\tds_1\t{T0}\t{FAILURE['sentence']}"
    assert platform.asked[0].url.params["service"] == "ingest"


def test_one_is_shown_with_its_event_and_what_can_be_done(platform: FakePlatform) -> None:
    waiting = [{"id": "fail_9", "status": "parked", "event_type": "easyloop.run.requested.v1", "event_id": "evt_9"}]
    platform.on("GET /v1/deadletters/fail_1", {**DETAIL, "waiting": waiting})
    shown = call(platform, "show", "fail_1").output
    for part in ("dataset_unknown: There is no data set", "gateway.requests, partition 2, offset 7", "ce_id: evt_1",
                 '"dataset_id": "ds_1"', "behind it: fail_9", "try again: easyloop dlq replay fail_1"):  # fmt: skip
        assert part in shown
    obstacle = {"code": "run_over", "sentence": "Run run_1 is over (failed); start another run."}
    platform.on("GET /v1/deadletters/fail_1", {**DETAIL, "obstacle": obstacle, "data": "no json"})
    assert obstacle["sentence"] in (shown := call(platform, "show", "fail_1").output)
    assert ("dlq replay" in shown, "  no json" in shown) == (False, True)


def test_several_are_replayed_and_one_that_is_refused_stops_no_other(platform: FakePlatform) -> None:
    platform.on("POST /v1/deadletters/fail_1/replay", a_problem(409, "run_over", "Run run_1 is over (failed)."))
    result = call(platform, "replay", "fail_1", "fail_2")
    assert (result.exit_code, replayed(platform)) == (1, ["fail_1", "fail_2"])
    assert result.output.splitlines() == [
        "fail_1: Run run_1 is over (failed).",
        "fail_2: ingest tries again; see: easyloop dlq show fail_2",
    ]


def test_all_of_a_service_are_replayed_the_oldest_first(platform: FakePlatform) -> None:
    assert call(platform, "replay", "--all", "--service", "ingest").exit_code == 0
    assert replayed(platform) == ["fail_1", "fail_2"]
    platform.on("GET /v1/deadletters", {"items": [], "total": 0})
    assert call(platform, "replay", "--all", "--service", "hpo").output.strip() == "hpo has no dead letters"


@pytest.mark.parametrize("arguments", [[], ["--all"], ["fail_1", "--all", "--service", "ingest"]])
def test_what_is_to_be_replayed_must_be_clear(platform: FakePlatform, arguments: list[str]) -> None:
    result = call(platform, "replay", *arguments)
    assert (result.exit_code, replayed(platform)) == (1, [])
    assert "--all with --service" in result.output


@pytest.mark.parametrize(
    ("after", "said", "status"),
    [
        ({"status": "done", "replays": 1}, "fail_1: was handled", 0),
        ({"status": "dead", "replays": 1}, f"fail_1: failed again: {FAILURE['sentence']}", 1),
        ({"status": "retrying", "replays": 1}, "fail_1: is still being tried", 1),
    ],
)
def test_waiting_shows_how_it_ended(platform: FakePlatform, after: dict[str, object], said: str, status: int) -> None:
    first, retrying = DETAIL, {**DETAIL, "status": "retrying", "replays": 1}
    platform.on("GET /v1/deadletters/fail_1", first, first, retrying, {**DETAIL, **after})
    result = call(platform, "replay", "fail_1", "--wait")
    assert (result.output.strip(), result.exit_code) == (said, status)
