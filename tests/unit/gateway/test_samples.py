"""The samples of a version in pages, and their small pictures."""

from pathlib import Path

import pytest

from chassis.blobs.ports import thumbnail_key
from chassis.manifests import MEDIA_TYPE, ClassName, Manifest, Sample, write_manifest
from tests.unit.gateway.building import Gateway, is_problem

APPLE, PEAR = ClassName.named("apple"), ClassName.named("pear")


async def a_gateway(folder: Path) -> Gateway:
    """With version 1 of ds_1: three apples, the last in the test split, and two pears."""
    gateway = Gateway(folder)
    samples = [_sample(gateway, APPLE, n) for n in range(3)] + [_sample(gateway, PEAR, n) for n in range(2)]
    samples[2] = samples[2].on_side("test")
    content = write_manifest(Manifest((APPLE, PEAR), tuple(samples)))
    manifest = gateway.blobs.put("prj_default", content, MEDIA_TYPE)
    await gateway.has_dataset(next_version=2)
    await gateway.has_version(1, manifest=manifest.model_dump())
    return gateway


def _sample(gateway: Gateway, class_name: ClassName, number: int) -> Sample:
    name = f"{class_name.name}/{number}.jpg"
    blob = gateway.blobs.put("prj_default", name.encode(), "image/jpeg")
    return Sample(name, (class_name.id,), blob, 32, 24, split="train")


@pytest.mark.parametrize(
    ("query", "names", "total"),
    [
        ({}, ["apple/0.jpg", "apple/1.jpg", "apple/2.jpg", "pear/0.jpg", "pear/1.jpg"], 5),
        ({"offset": 1, "limit": 2}, ["apple/1.jpg", "apple/2.jpg"], 5),
        ({"class_id": PEAR.id}, ["pear/0.jpg", "pear/1.jpg"], 2),
        ({"class_id": APPLE.id, "split": "test"}, ["apple/2.jpg"], 1),
        ({"offset": 100}, [], 5),
    ],
)
async def test_a_page_of_samples(tmp_path: Path, query: dict[str, str | int], names: list[str], total: int) -> None:
    gateway = await a_gateway(tmp_path)
    async with gateway.client() as client:
        page = (await client.get("/v1/datasets/ds_1/versions/1/samples", params=query)).json()
    assert [item["name"] for item in page["items"]] == names
    assert page["total"] == total


async def test_samples_of_a_version_without_any_yet(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    await gateway.has_dataset(next_version=2)
    await gateway.has_version(1, status="open")
    async with gateway.client() as client:
        assert is_problem(await client.get("/v1/datasets/ds_1/versions/1/samples"), 409, "version_not_ready")
        assert is_problem(await client.get("/v1/datasets/ds_1/versions/2/samples"), 404, "version_unknown")


async def test_a_small_picture(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.blobs.put_named(thumbnail_key("prj_default", "a" * 64), b"small", "image/jpeg")
    async with gateway.client() as client:
        found = await client.get(f"/v1/thumbnails/{'a' * 64}")
        assert (found.content, found.headers["content-type"]) == (b"small", "image/jpeg")
        assert is_problem(await client.get(f"/v1/thumbnails/{'b' * 64}"), 404, "thumbnail_unknown")
