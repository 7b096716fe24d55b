"""Collecting blobs after the whole way of uploads: what the platform shows is all there, what was deleted is not."""

import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chassis.blobs.ports import thumbnail_key
from chassis.clock import FakeClock
from chassis.documents.fake import FakeDatabase
from chassis.documents.ports import Database
from chassis.jobs import Job
from chassis.manifests import read_manifest
from chassis.records import Repository
from schemas.base import BlobRef
from services.gateway.upload_job import UploadJob
from services.ingest.collecting import BlobCollector
from services.ingest.reading_references import SERVICES, follow, read_documents
from tests.inputs.case import good_files, packed, picture
from tests.platform import InlinePlatform, Uploaded

LATER = datetime.now(UTC) + timedelta(days=30)
PROJECTS = {"prj_default"}


@pytest.fixture
def platform(tmp_path: Path) -> InlinePlatform:
    return InlinePlatform(tmp_path)


async def collect(platform: InlinePlatform) -> dict[str, int]:
    """What the collector did, a month from now."""
    clock = FakeClock(LATER)
    databases: dict[str, Database] = {service: FakeDatabase() for service in SERVICES}
    databases |= {deps.service: deps.database for deps in platform.owners}
    needed = await read_documents(databases)
    follow(needed, platform.blobs, PROJECTS)
    collector = BlobCollector(platform.blobs, platform.gateway.sessions, clock, timedelta(days=1))
    return collector.collect(needed)


async def uploaded(platform: InlinePlatform, dataset_id: str, *more: str) -> Uploaded:
    files = {
        **good_files(),
        **{name: picture(zlib.crc32(name.encode()) % 1000) for name in more},
        "cat/broken.png": b"no picture",
    }
    found = await platform.upload(packed(files), "photos.zip", dataset_id=dataset_id)
    assert found.outcome == "ready"
    return found


async def delete(platform: InlinePlatform, address: str) -> None:
    async with platform.client() as client:
        asked = await client.delete(address)
        assert asked.status_code == 202, asked.text
        await platform.settle()
        assert (await client.get(asked.headers["location"])).json()["status"] == "done"


async def test_nothing_that_is_shown_is_ever_collected(platform: InlinePlatform) -> None:
    first, second = await platform.create_dataset(), await platform.create_dataset()
    await uploaded(platform, first)
    await uploaded(platform, first, "dog/new.png")
    await uploaded(platform, second, "cat/other.png")
    before = dict(platform.blobs.objects)
    orphan = platform.blobs.put("prj_default", b"written by a transaction that was aborted", "text/plain")
    assert (await collect(platform))["removed"] == 1
    assert orphan.key not in platform.blobs.objects
    assert platform.blobs.objects == before


async def test_a_deleted_data_set_takes_its_own_blobs_along_and_no_others(platform: InlinePlatform) -> None:
    kept, deleted = await platform.create_dataset(), await platform.create_dataset()
    await uploaded(platform, kept)
    before = dict(platform.blobs.objects)
    await uploaded(platform, deleted, "dog/new.png")
    added = len(platform.blobs.objects) - len(before)
    await delete(platform, f"/v1/datasets/{deleted}")
    assert (await collect(platform))["removed"] == added
    assert platform.blobs.objects == before


async def test_a_deleted_version_takes_along_what_no_other_version_holds(platform: InlinePlatform) -> None:
    dataset = await platform.create_dataset()
    await uploaded(platform, dataset, "dog/first.png")
    await uploaded(platform, dataset, "dog/second.png")
    await delete(platform, f"/v1/datasets/{dataset}/versions/1")
    assert (await collect(platform))["removed"] > 0
    async with platform.client() as client:
        shown = (await client.get(f"/v1/datasets/{dataset}/versions/2")).json()
    manifest = (await platform.owners[2].database.find("versions", {"version": 2}))[0]["manifest"]
    assert shown["sample_count"] == len(_samples(platform, BlobRef.model_validate(manifest)))


def _samples(platform: InlinePlatform, manifest: BlobRef) -> list[bytes]:
    """The content of every sample of a manifest, and there is a thumbnail of each."""
    samples = read_manifest(platform.blobs.get(manifest)).samples
    for sample in samples:
        assert platform.blobs.get_named(thumbnail_key("prj_default", sample.blob.sha256))
    return [platform.blobs.get(sample.blob) for sample in samples]


async def test_an_upload_in_parts_is_kept_while_it_is_under_way(platform: InlinePlatform) -> None:
    content = packed(good_files())
    dataset = await platform.create_dataset()
    nothing = {"orphans": 0, "orphan_bytes": 0, "removed": 0, "aborted": 0}
    async with platform.client() as client:
        new = {"file_name": "photos.zip", "size": len(content)}
        upload = (await client.post(f"/v1/datasets/{dataset}/uploads", json=new)).headers["location"]
        assert await collect(platform) == nothing
        assert (await client.put(f"{upload}/parts/1", content=content)).status_code == 200
        assert (await client.post(f"{upload}/complete")).status_code == 202
        [job] = await Repository(platform.gateway.database, Job).find({})
        assert await collect(platform) == nothing
        UploadJob(platform.gateway.sessions).run(job.args)
        assert await collect(platform) == nothing
    assert list(platform.blobs.objects) == [job.args["key"]]
    await platform.gateway.database.put("jobs", {**job.to_document(), "status": "cancelled"})
    await platform.gateway.database.delete("uploads", upload.rsplit("/", 1)[1])
    assert (await collect(platform))["removed"] == 1
