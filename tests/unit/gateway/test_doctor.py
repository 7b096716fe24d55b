"""What the doctor says of a platform that is well, and of each thing that may be wrong."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chassis.bus.ports import Message
from chassis.clock import rfc3339
from chassis.jobs import Job
from chassis.topics import load_topics
from services.gateway import checks
from services.ingest.collection import BlobCollection
from tests.unit.gateway.building import Gateway

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CATALOG = load_topics()
WHOLE = {topic.name: topic.partitions for topic in CATALOG.topics}


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


async def examined(gateway: Gateway) -> dict[str, dict[str, Any]]:
    async with gateway.client() as client:
        answer = await client.get("/v1/doctor")
    assert answer.status_code == 200, answer.text
    return {check["name"]: check for check in answer.json()["checks"]}


async def test_a_platform_with_faults_hears_of_each(gateway: Gateway) -> None:
    now = gateway.clock.now()
    dead = {"_id": "f1", "status": "dead"}
    await gateway.ingest.put("failures", dead)
    stuck = {"_id": "job_1", "kind": "import", "status": "running", "touched_at": rfc3339(now - timedelta(minutes=3))}
    await gateway.ingest.put("jobs", stuck)
    await gateway.registry.put("outbox", {"_id": "e1", "status": "pending", "time": "2020-01-01T00:00:00Z"})
    found = await examined(gateway)
    assert "dead letters: ingest 1" in found["failures"]["found"]
    assert "easyloop dlq list" in found["failures"]["remedy"]
    assert "job_1 (import, ingest, 3 min ago)" in found["jobs"]["found"]
    assert "registry" in found["outbox"]["found"]
    assert found["services"]["status"] == "error"  # no relay has ever run
    assert found["topics"]["status"] == "error"


async def test_a_platform_that_is_well_has_nothing_to_say(gateway: Gateway) -> None:
    for topic in CATALOG.topics:
        gateway.bus.append(Message(topic.name, b"k", b"v", ()))
    for database in (gateway.database, *gateway.databases.values()):
        await database.put("leases", {"_id": "outbox-relay", "at": gateway.clock.now()})
    found = await examined(gateway)
    disk = found.pop("disk")
    assert {check["status"] for check in found.values()} == {"ok"}, found
    assert not any(check["remedy"] for check in found.values())
    assert "GB free" in disk["found"]


async def test_a_bus_that_is_away_is_a_finding_and_no_error(gateway: Gateway) -> None:
    gateway.bus.answering = False
    found = await examined(gateway)
    assert "was told not to answer" in found["topics"]["found"]
    assert "was told not to answer" in found["consumers"]["found"]
    assert found["jobs"]["status"] == "ok"


async def test_a_gateway_that_still_waits_for_its_servers_answers(gateway: Gateway) -> None:
    gateway.prepared = False
    for database in (gateway.database, *gateway.databases.values()):
        database.answering = False
    found = await examined(gateway)
    assert "was told not to answer" in found["services"]["found"]


def test_topics_that_are_missing_or_too_small_are_named() -> None:
    first, *others = WHOLE
    assert first in checks.topics(CATALOG, {name: WHOLE[name] for name in others}).found
    small = checks.topics(CATALOG, {**WHOLE, "ingest.events": 1})
    assert (small.status, "ingest.events (1 of 4 partitions)" in small.found) == ("warning", True)
    assert checks.topics(CATALOG, WHOLE).status == "ok"


@pytest.mark.parametrize(
    ("behind", "status", "words"),
    [
        ({"ingest": 0, "hpo": 12}, "ok", "at most 12"),
        ({"ingest": 5000, "hpo": 2}, "warning", "ingest 5000"),
        ({"ingest": None}, "ok", "cannot tell"),
    ],
)
def test_lag(behind: dict[str, int | None], status: str, words: str) -> None:
    check = checks.lag(behind)
    assert (check.status, words in check.found) == (status, True)


def test_silent_services_are_named_with_the_time_of_their_last_sign_of_life() -> None:
    check = checks.services({"hpo": ago(7200), "ingest": ago(2), "trainer": None}, NOW)
    assert (check.status, check.found) == ("error", "no sign of life from hpo (2 h ago), trainer (never)")


def test_jobs_are_stuck_without_a_heartbeat_and_wait_when_queued_for_long() -> None:
    def judged(status: str, age: float) -> str:
        row = {"id": "job_1", "kind": "study", "key": "run_1", "args": {}, "status": status, "touched_at": ago(age)}
        return checks.jobs({"hpo": [Job.model_validate(row).to_document()]}, NOW).status

    assert [judged("running", 5), judged("running", 300)] == ["ok", "error"]
    assert [judged("queued", 60), judged("queued", 3600)] == ["ok", "warning"]


def test_what_is_tried_again_is_a_warning_too() -> None:
    check = checks.failures({"hpo": {"retrying": 1, "parked": 2}, "ingest": {}})
    assert (check.status, check.found) == ("warning", "events tried again: hpo 3")


def test_blobs_tell_of_their_last_collection() -> None:
    written = BlobCollection(id="latest", looked_at=ago(90), orphans=3, orphan_bytes=2_500_000, removed=1)
    latest = written.to_document()  # as ingest leaves it
    assert checks.blobs(latest, NOW).found == "3 not needed (2.5 MB), 1 removed, 1 min ago"
    assert checks.blobs({**latest, "failure": {"sentence": "no."}}, NOW).status == "warning"
    assert checks.blobs(None, NOW).found == "not looked at yet"


def test_a_full_disk_is_an_error_before_it_is_full() -> None:
    assert [checks.disk(free, 10**12).status for free in (10**11, 10**9, 10**8)] == ["ok", "warning", "error"]
