"""Small pictures of every odd kind, and chunks of them as ingest stores them."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.ports import BlobStore
from chassis.deps import Deps
from chassis.documents.fake import FakeDatabase
from chassis.manifests import MEDIA_TYPE, RawSample, write_raw
from schemas.dataset import SamplesIngested
from services.preprocess.chunk_reading import ChunkReader
from services.preprocess.deps import PreprocessDeps
from tests.builders import build_deps, extended

SIDE = 16
PROJECT = "prj_1"


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The picture as a file of that kind."""
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def a_picture(seed: int = 0) -> bytes:
    """A PNG unlike that of any other seed."""
    return encoded(Image.new("RGB", (SIDE, SIDE), (seed % 256, seed // 256 % 256, 7)), "PNG")


def stored_chunk(
    blobs: BlobStore, files: Mapping[str, bytes] | Sequence[tuple[str, bytes]], chunk: int = 0, version: int = 1
) -> SamplesIngested:
    """A chunk of files that are labelled with their first folder."""
    pairs = list(files.items()) if isinstance(files, Mapping) else list(files)
    samples = [
        RawSample(name, (name.split("/")[0],), blobs.put(PROJECT, content, "application/octet-stream"))
        for name, content in pairs
    ]
    return SamplesIngested(
        project_id=PROJECT,
        dataset_id="ds_1",
        version=version,
        chunk=chunk,
        task="image_classification",
        samples=blobs.put(PROJECT, write_raw(samples), MEDIA_TYPE),
        sample_count=len(samples),
    )


def preprocess_deps(shared: Deps | None = None) -> PreprocessDeps:
    """Dependencies over fakes; two files are decoded at a time."""
    shared = shared or build_deps("preprocess")
    deps: PreprocessDeps = extended(
        shared,
        PreprocessDeps,
        reader=ChunkReader(shared.blobs, threads=2),
        ingest=FakeDatabase(),
        registry=FakeDatabase(),
    )
    return deps


def fake_blobs(deps: Deps) -> FakeBlobStore:
    """The blob store of the dependencies, as the fake it is."""
    assert isinstance(deps.blobs, FakeBlobStore)
    return deps.blobs
