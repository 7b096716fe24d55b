"""Uploaded pictures: what is kept, what is changed and noted, what is refused and why."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from learning.errors import SampleRejected
from learning.image_classification.reading import (
    MAX_BYTES,
    MAX_SIDE,
    decode_square,
    fingerprint_of,
    read_picture,
)
from tests.unit.learning.pictures import decoded, encoded, noise


@pytest.mark.parametrize(
    ("mode", "image_format", "media_type"),
    [
        ("RGB", "JPEG", "image/jpeg"),
        ("L", "JPEG", "image/jpeg"),
        ("RGB", "PNG", "image/png"),
        ("RGB", "WEBP", "image/webp"),
    ],
)
def test_a_fit_picture_keeps_its_bytes(mode: str, image_format: str, media_type: str) -> None:
    raw = encoded(noise(60, 40).convert(mode), image_format)
    prepared = read_picture(raw, "a.jpg")
    assert (prepared.content, prepared.media_type) == (raw, media_type)
    assert (prepared.width, prepared.height, prepared.notes) == (60, 40, ())


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_rotated_photograph_is_turned_upright(orientation: int) -> None:
    upright = noise(64, 40)
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    raw = encoded(upright.transpose(undo[orientation]), "JPEG", quality=98, exif=exif)
    prepared = read_picture(raw, "phone.jpg")
    assert (prepared.width, prepared.height) == (64, 40)
    assert "upright" in prepared.notes[0]
    stored = decoded(prepared.content)
    assert stored.getexif().get(0x0112) is None
    assert np.abs(np.asarray(stored, int) - np.asarray(upright, int)).mean() < 3
    seen = np.asarray(decode_square(raw, "phone.jpg", 40), int)
    assert np.abs(seen - np.asarray(upright.resize((40, 40), Image.Resampling.BILINEAR), int)).mean() < 4


def test_transparency_becomes_white() -> None:
    image = Image.new("RGBA", (30, 30), (200, 0, 0, 0))
    prepared = read_picture(encoded(image, "PNG"), "logo.png")
    assert decoded(prepared.content).getpixel((5, 5)) == (255, 255, 255)
    assert "white" in prepared.notes[0]


def test_a_transparent_palette_becomes_white_too() -> None:
    image = Image.new("P", (30, 30), 7)
    image.putpalette([0, 0, 0] * 256)
    raw = encoded(image, "PNG", transparency=7)
    assert decoded(read_picture(raw, "p.png").content).convert("RGB").getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("image", "image_format"),
    [
        (noise(40, 40).convert("P"), "PNG"),
        (noise(40, 40).convert("CMYK"), "JPEG"),
        (noise(40, 40).convert("1"), "PNG"),
        (noise(40, 40).convert("LA"), "PNG"),
        (noise(40, 40), "BMP"),
        (noise(40, 40), "TIFF"),
        (noise(40, 40), "GIF"),
    ],
)
def test_other_modes_and_formats_become_eight_bit_pictures(image: Image.Image, image_format: str) -> None:
    prepared = read_picture(encoded(image, image_format), "x")
    stored = decoded(prepared.content)
    assert stored.mode in ("RGB", "L")
    assert prepared.media_type in ("image/jpeg", "image/png")
    expected = np.asarray(image.convert("RGB"), int)
    assert np.abs(np.asarray(stored.convert("RGB"), int) - expected).mean() < 12


@pytest.mark.parametrize(("highest", "bits"), [(65535, 16), (4095, 12), (200, 8)])
def test_deep_grey_is_scaled_by_the_bits_it_uses_and_says_so(highest: int, bits: int) -> None:
    ramp = np.linspace(0, highest, 40 * 40).reshape(40, 40).astype(np.uint16)
    prepared = read_picture(encoded(Image.fromarray(ramp), "PNG"), "scan.png")
    assert prepared.notes == (f"Brought from {bits} bits a pixel to 8.",)
    assert np.asarray(decoded(prepared.content)).max() == (255 if bits > 8 else 200)


def test_only_the_first_of_an_animation_is_used() -> None:
    frames = [noise(32, 32, seed) for seed in (1, 2)]
    raw = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    prepared = read_picture(raw, "move.gif")
    assert "first" in prepared.notes[0]
    assert np.abs(np.asarray(decoded(prepared.content).convert("RGB"), int) - np.asarray(frames[0], int)).mean() < 12


def test_a_long_picture_is_brought_down() -> None:
    prepared = read_picture(encoded(noise(MAX_SIDE + 1000, 60), "JPEG"), "panorama.jpg")
    assert (prepared.width, prepared.height) == (MAX_SIDE, 48)
    assert str(MAX_SIDE) in prepared.notes[0]


def test_the_thumbnail_is_a_small_jpeg_of_the_same_shape() -> None:
    thumbnail = decoded(read_picture(encoded(noise(600, 300), "PNG"), "x.png").thumbnail)
    assert (thumbnail.format, thumbnail.size) == ("JPEG", (256, 128))


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_half_a_file_is_refused_by_name(image_format: str, kept: float) -> None:
    random = np.random.default_rng(0)
    raw = encoded(Image.fromarray(random.integers(0, 255, (80, 80, 3), np.uint8)), image_format)
    with pytest.raises(SampleRejected) as caught:
        read_picture(raw[: int(len(raw) * kept)], "photo_17.jpg")
    assert caught.value.code in ("truncated_image", "not_an_image")
    assert caught.value.sentence.startswith("photo_17.jpg: ")


def _bilevel(side: int) -> bytes:
    return encoded(Image.new("1", (side, side)), "PNG")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "empty_file"),
        (b"\x00" * (MAX_BYTES + 1), "too_large"),
        (_bilevel(10_100), "too_large"),
        (_bilevel(14_000), "too_large"),
        (b"hello, I am no picture", "not_an_image"),
        (encoded(noise(14, 300), "PNG"), "too_small"),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_refusals_have_a_code_and_name_the_file(raw: bytes, code: str) -> None:
    with pytest.raises(SampleRejected) as caught:
        read_picture(raw, "x.png")
    assert caught.value.code == code
    assert caught.value.sentence.startswith("x.png: ")


def test_near_duplicates_have_close_fingerprints() -> None:
    image = noise(200, 160)
    again = decoded(encoded(image.resize((120, 96)), "JPEG", quality=60))
    distance = int(fingerprint_of(image), 16) ^ int(fingerprint_of(again), 16)
    other = int(fingerprint_of(image), 16) ^ int(fingerprint_of(noise(200, 160, seed=1)), 16)
    assert distance.bit_count() <= 3 < 12 < other.bit_count()


_VALID = [encoded(noise(24, 20), name) for name in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_VALID), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=12))
def test_damaged_files_are_read_or_refused_but_never_crash(raw: bytes, damage: list[tuple[int, int]]) -> None:
    broken = bytearray(raw)
    for place, value in damage:
        broken[place % len(broken)] = value
    with contextlib.suppress(SampleRejected):
        prepared = read_picture(bytes(broken), "x")
        assert Image.open(io.BytesIO(prepared.content)).size == (prepared.width, prepared.height)
