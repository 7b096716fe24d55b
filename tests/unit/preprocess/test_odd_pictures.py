"""The pictures that people upload: read in full, brought into shape, or refused by name."""

import io

import numpy as np
import pytest
from PIL import Image

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.ports import thumbnail_key
from chassis.manifests import ClassName
from services.preprocess.chunk_reading import ChunkReader, ReadChunk
from tests.unit.preprocess.pictures import PROJECT, a_picture, encoded, stored_chunk

WIDE = Image.effect_noise((64, 32), 50).convert("RGB")
JPEG = encoded(WIDE, "JPEG")


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(WIDE, "JPEG", exif=exif)


def deep() -> bytes:
    return encoded(Image.fromarray(np.full((32, 64), 40_000, np.uint16)), "PNG")


def read(name: str, content: bytes) -> tuple[ReadChunk, FakeBlobStore]:
    blobs = FakeBlobStore()
    return ChunkReader(blobs, 2).read(stored_chunk(blobs, {name: content})), blobs


GOOD = [
    ("a JPEG stays as it is", "x.jpg", JPEG, (64, 32), "image/jpeg", ""),
    ("CMYK", "x.jpg", encoded(WIDE.convert("CMYK"), "JPEG"), (64, 32), "image/jpeg", "CMYK"),
    ("a palette", "x.png", encoded(WIDE.convert("P"), "PNG"), (64, 32), "image/png", "P to RGB"),
    ("EXIF rotation", "x.jpg", turned(), (32, 64), "image/jpeg", "upright"),
    ("16 bits a pixel", "x.png", deep(), (64, 32), "image/png", "16 bits"),
    ("a GIF", "x.gif", encoded(WIDE.convert("P"), "GIF"), (64, 32), "image/png", ""),
    ("transparency in a file called .jpg", "x.jpg", encoded(WIDE.convert("RGBA"), "PNG"), (64, 32), "image/png", ""),
    ("a PNG called .jpg", "x.jpg", encoded(WIDE, "PNG"), (64, 32), "image/png", ""),
]


@pytest.mark.parametrize(("title", "file", "content", "size", "media_type", "note"), GOOD, ids=[row[0] for row in GOOD])
def test_what_can_be_read_becomes_a_sample_of_a_plain_kind(
    title: str, file: str, content: bytes, size: tuple[int, int], media_type: str, note: str
) -> None:
    chunk, blobs = read(f"cat/{file}", content)
    (sample,) = chunk.manifest.samples
    assert ((sample.width, sample.height), sample.blob.media_type) == (size, media_type)
    assert note in " ".join(sample.notes)
    stored = Image.open(io.BytesIO(blobs.get(sample.blob)))
    assert stored.size == size
    assert stored.mode in ("RGB", "L")
    thumbnail = Image.open(io.BytesIO(blobs.get_named(thumbnail_key(PROJECT, sample.blob.sha256))))
    assert thumbnail.format == "JPEG"


BAD = [
    ("no bytes", b"", "empty_file"),
    ("text", b"this is no picture at all", "not_an_image"),
    ("half a JPEG", JPEG[: len(JPEG) // 2], "truncated_image"),
    ("a few pixels", encoded(Image.new("RGB", (3, 3)), "PNG"), "too_small"),
]


@pytest.mark.parametrize(("title", "content", "code"), BAD, ids=[row[0] for row in BAD])
def test_what_cannot_be_read_is_refused_by_name(title: str, content: bytes, code: str) -> None:
    chunk, _ = read("cat/x.jpg", content)
    assert chunk.manifest.samples == ()
    assert [(refusal.name, refusal.code) for refusal in chunk.rejections] == [("cat/x.jpg", code)]
    assert chunk.rejections[0].sentence.startswith("cat/x.jpg")
    assert [name.name for name in chunk.manifest.classes] == ["cat"]


def test_one_bad_file_does_not_cost_the_others() -> None:
    blobs = FakeBlobStore()
    files = {"cat/1.png": a_picture(1), "cat/2.png": b"", "dog/3.png": a_picture(3)}
    chunk = ChunkReader(blobs, 2).read(stored_chunk(blobs, files))
    assert [sample.name for sample in chunk.manifest.samples] == ["cat/1.png", "dog/3.png"]
    assert [sample.labels for sample in chunk.manifest.samples] == [
        (ClassName.named("cat").id,),
        (ClassName.named("dog").id,),
    ]


def test_a_file_whose_content_is_lost_is_refused_by_name() -> None:
    blobs = FakeBlobStore()
    event = stored_chunk(blobs, {"cat/1.png": a_picture(1), "cat/2.png": a_picture(2)})
    lost = blobs.put(PROJECT, a_picture(2), "")
    blobs.delete(lost.key)
    chunk = ChunkReader(blobs, 2).read(event)
    assert [(refusal.name, refusal.code) for refusal in chunk.rejections] == [("cat/2.png", "content_lost")]


def test_reading_again_stores_the_same_blobs() -> None:
    blobs = FakeBlobStore()
    event = stored_chunk(blobs, {"cat/1.jpg": turned(), "cat/2.png": deep()})
    first = ChunkReader(blobs, 2).read(event)
    before = dict(blobs.objects)
    assert ChunkReader(blobs, 2).read(event) == first
    assert blobs.objects == before
