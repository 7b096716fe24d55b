"""What counts as a reference to a blob, and what does not any more."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.ports import BlobEntry, content_key
from chassis.documents.fake import FakeDatabase
from chassis.errors import PermanentError
from chassis.manifests import MEDIA_TYPE, RawSample, write_raw
from schemas.base import BlobRef
from services.ingest.reading_references import SERVICES, follow, read_documents
from services.ingest.references import References, orphans
from tests.builders import a_blob

REF = a_blob("wanted").model_dump(mode="json")
KEY = REF["key"]


def databases() -> dict[str, FakeDatabase]:
    return {service: FakeDatabase() for service in SERVICES}


async def needed(service: str, collection: str, **document: Any) -> bool:
    """Whether a document of that service holds a blob."""
    found = databases()
    await found[service].put(collection, {"_id": "one", **document})
    return (await read_documents(found)).needs(KEY)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_reference_counts_wherever_it_stands_in_a_document(service: str) -> None:
    assert await needed(service, "whatever", deep=[{"down": {"blob": REF}}])
    assert await needed(service, "whatever", key=KEY)
    assert not await needed(service, "whatever", key=KEY + "x")


@pytest.mark.parametrize(
    ("collection", "living", "ended"),
    [
        ("jobs", ["queued", "running"], ["done", "failed", "cancelled"]),
        ("failures", ["retrying", "parked", "dead"], ["done"]),
        ("outbox", ["pending"], ["sent"]),
    ],
)
async def test_what_is_over_needs_nothing(collection: str, living: list[str], ended: list[str]) -> None:
    for service in SERVICES:
        assert [await needed(service, collection, status=status, args=REF) for status in living] == [True] * len(living)
        assert not any([await needed(service, collection, status=status, args=REF) for status in ended])


@pytest.mark.parametrize("collection", ["inbox", "aggregates", "leases", "event_archive", "idempotency"])
async def test_what_only_tells_of_things_needs_nothing(collection: str) -> None:
    assert not await needed("gateway", collection, data=REF)


async def test_events_are_read_where_they_lie_as_text() -> None:
    text = json.dumps({"archive": REF})
    assert await needed("gateway", "outbox", status="pending", data=text)
    assert await needed("ingest", "failures", status="dead", raw_value=base64.b64encode(text.encode()).decode())


@pytest.mark.parametrize("text", ["{", "{]", "ey", "eyJ", "eyJ=", "", "[]", "ey" + "A" * 100, '{"a": 1} and more'])
async def test_text_that_looks_like_more_is_harmless(text: str) -> None:
    assert not await needed("ingest", "whatever", name=text)


@pytest.mark.parametrize(
    ("state", "is_needed"),
    [("requested", True), ("training", True), ("registering", True), ("succeeded", False), ("failed", False),
     ("cancelled", False)],
)  # fmt: skip
async def test_a_run_needs_its_blobs_and_what_its_stages_handed_on_until_it_ends(state: str, is_needed: bool) -> None:
    assert await needed("registry", "runs", state=state, manifest=REF) is is_needed
    found = databases()
    await found["registry"].put("runs", {"_id": "run_1", "state": state})
    await found["hpo"].put("outbox", {"_id": "evt_1", "key": "run_1", "status": "sent", "data": json.dumps(REF)})
    assert (await read_documents(found)).needs(KEY) is is_needed


def test_a_manifest_stands_for_all_it_names() -> None:
    blobs, needed = FakeBlobStore(), References()
    sample = blobs.put("prj_1", b"a picture", "image/png")
    chunk = blobs.put("prj_1", write_raw([RawSample("cat/a.png", ("cat",), sample)]), MEDIA_TYPE)
    needed.note({"samples": chunk.model_dump(mode="json")})
    assert needed.needs(chunk.key)
    assert not needed.needs(sample.key)
    follow(needed, blobs, set())
    assert needed.needs(sample.key)
    assert needed.needs(f"projects/prj_1/thumb/256/{sample.sha256}")
    assert not needed.needs(f"projects/prj_2/thumb/256/{sample.sha256}")
    assert not needed.needs(f"projects/prj_1/thumb/256/{'0' * 64}")


@pytest.mark.parametrize("is_damaged", [False, True])
def test_while_a_manifest_is_lost_nothing_is_an_orphan(is_damaged: bool) -> None:
    blobs, needed = FakeBlobStore(), References()
    chunk = blobs.put("prj_1", write_raw([]), MEDIA_TYPE)
    needed.note(chunk.model_dump(mode="json"))
    blobs.put_named(chunk.key, b"damaged", MEDIA_TYPE) if is_damaged else blobs.delete(chunk.key)
    with pytest.raises(PermanentError, match="nothing is collected"):
        follow(needed, blobs, set())


async def test_features_live_as_long_as_their_data_set() -> None:
    blobs, found = FakeBlobStore(), databases()
    refs: dict[str, BlobRef] = {}
    for dataset, deleted_at in (("ds_1", None), ("ds_2", datetime(2026, 1, 1, tzinfo=UTC))):
        await found["ingest"].put("datasets", {"_id": dataset, "project_id": "prj_1", "deleted_at": deleted_at})
        refs[dataset] = blobs.put("prj_1", f"features of {dataset}".encode(), "application/octet-stream")
        pointer = f"projects/prj_1/features/{dataset}/digest.json"
        blobs.put_named(pointer, refs[dataset].model_dump_json().encode(), "application/json")
    needed = await read_documents(found)
    follow(needed, blobs, {"prj_1"})
    assert needed.needs("projects/prj_1/features/ds_1/digest.json")
    assert needed.needs(refs["ds_1"].key)
    assert not needed.needs("projects/prj_1/features/ds_2/digest.json")
    assert not needed.needs(refs["ds_2"].key)


def test_what_was_written_within_the_grace_period_is_left_alone() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    ages = {"old": timedelta(hours=25), "at the limit": timedelta(hours=24), "young": timedelta(hours=1)}
    entries = [BlobEntry(content_key("prj_1", name), 1, now - age) for name, age in ages.items()]
    found = list(orphans(entries, References(), now, timedelta(hours=24)))
    assert found == entries[:1]
