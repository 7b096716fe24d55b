"""Pictures of every kind, each beside good ones of its class."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pillow_heif
from PIL import Image, ImageCms

from tests.inputs.case import GOOD, Case, good_and, picture
from tests.unit.ingest.archives import Entry
from tests.unit.learning.pictures import encoded, noise

WIDE = noise(64, 40, 9)
JPEG = encoded(WIDE, "JPEG")
MORE = {**GOOD, "cat": 4}


def _deep() -> Image.Image:
    return Image.fromarray(np.asarray(WIDE.convert("L"), np.uint16) * 257)


def _deep_colour() -> bytes:
    """A PNG with 16 bits a channel, which Pillow cannot write."""

    rows = (np.asarray(WIDE, np.uint16) * 257).astype(">u2")
    lines = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", *WIDE.size, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def _turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(WIDE, "JPEG", exif=exif)


def _ycck() -> bytes:
    """A CMYK JPEG whose Adobe marker says YCCK: transform 2 instead of 0."""
    raw = encoded(WIDE.convert("CMYK"), "JPEG")
    place = raw.index(b"Adobe") + 11
    return raw[:place] + b"\x02" + raw[place + 1 :]


def _frames(kind: str, **options: Any) -> bytes:
    return encoded(WIDE, kind, save_all=True, append_images=[noise(64, 40, seed) for seed in (1, 2)], **options)


def _heic() -> bytes:
    target = io.BytesIO()
    pillow_heif.from_pillow(WIDE).save(target)
    return target.getvalue()


def _transparent_palette() -> bytes:
    return encoded(WIDE.convert("P"), "PNG", transparency=3)


def _profile() -> bytes:
    return encoded(WIDE, "JPEG", icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())


def _claims(side: int) -> bytes:
    raw = bytearray(encoded(Image.new("1", (64, 64)), "PNG"))
    raw[16:24] = struct.pack(">II", side, side)

    raw[29:33] = struct.pack(">I", zlib.crc32(raw[12:29]))
    return bytes(raw)


def _plain(width: int, height: int) -> bytes:
    return encoded(Image.new("L", (width, height), 128), "PNG")


FILES: dict[str, tuple[str, bytes]] = {}
"""Of each good kind its extension and content."""


def _good(name: str, make: Callable[[], bytes], file: str = "x.png", note: str = "") -> Case:
    if "megapixels" not in name:
        FILES[name] = (f".{file.rsplit('.')[-1]}", make())
    return Case(name, lambda: good_and(Entry(f"cat/{file}", make())), classes=MORE, words=(note,) if note else ())


def _bad(name: str, make: Callable[[], bytes], code: str, file: str = "x.jpg") -> Case:
    return Case(name, lambda: good_and(Entry(f"cat/{file}", make())), classes=GOOD, rejected=(code,))


UPRIGHT = "Turned upright"
FIRST = "Only the first"
CASES = (
    _good("exif-1", lambda: _turned(1), "x.jpg"),
    *(_good(f"exif-{n}", lambda n=n: _turned(n), "x.jpg", UPRIGHT) for n in range(2, 9)),  # type: ignore[misc]  # n=n binds the loop's value
    _good("jpeg-progressive", lambda: encoded(WIDE, "JPEG", progressive=True), "x.jpg"),
    _good("jpeg-cmyk", lambda: encoded(WIDE.convert("CMYK"), "JPEG"), "x.jpg", "CMYK"),
    _good("jpeg-ycck", _ycck, "x.jpg", "CMYK"),
    _good("jpeg-grey", lambda: encoded(WIDE.convert("L"), "JPEG"), "x.jpg"),
    _good("jpeg-icc", _profile, "x.jpg"),
    _good("mpo", lambda: _frames("MPO"), "x.mpo"),
    _good("png-palette-transparent", _transparent_palette, note="white"),
    _good("png-alpha", lambda: encoded(WIDE.convert("RGBA"), "PNG"), note="white"),
    _good("png-grey-alpha", lambda: encoded(WIDE.convert("LA"), "PNG"), note="white"),
    _good("png-16-bit-grey", lambda: encoded(_deep(), "PNG"), note="16 bits"),
    _good("png-16-bit-colour", _deep_colour),
    _good("png-1-bit", lambda: encoded(WIDE.convert("1"), "PNG"), note="Converted from 1"),
    _good("apng", lambda: _frames("PNG"), note=FIRST),
    _good("gif", lambda: encoded(WIDE.convert("P"), "GIF"), "x.gif"),
    _good("gif-animated", lambda: _frames("GIF"), "x.gif", FIRST),
    _good("webp-lossless", lambda: encoded(WIDE, "WEBP", lossless=True), "x.webp"),
    _good("webp-animated", lambda: _frames("WEBP"), "x.webp", FIRST),
    _good("tiff", lambda: encoded(WIDE, "TIFF"), "x.tiff"),
    _good("tiff-pages", lambda: _frames("TIFF"), "x.tif", FIRST),
    _good(
        "tiff-float",
        lambda: encoded(Image.fromarray(np.asarray(WIDE.convert("L"), np.float32) / 255), "TIFF"),
        "x.tif",
        "fractions",
    ),
    _good("bmp", lambda: encoded(WIDE, "BMP"), "x.bmp"),
    _good("heic", _heic, "x.heic", "Stored as JPEG"),
    _good("avif", lambda: encoded(WIDE, "AVIF"), "x.avif", "Stored as JPEG"),
    _good("jpeg-2000", lambda: encoded(WIDE, "JPEG2000"), "x.jp2", "Stored as JPEG"),
    _good("png-named-jpg", lambda: picture(5), "x.jpg"),
    _good("upper-case-extension", lambda: JPEG, "x.JPG"),
    _good("picture-100-megapixels", lambda: _plain(10_000, 10_000), note="Brought down"),
    _bad("picture-over-100-megapixels", lambda: _plain(10_001, 10_000), "too_large", "x.png"),
    _bad("picture-claims-60000", lambda: _claims(60_000), "too_large", "x.png"),
    _bad("picture-strip", lambda: _plain(1, 5000), "too_small", "x.png"),
    _bad("picture-1x1", lambda: _plain(1, 1), "too_small", "x.png"),
    _bad("picture-under-15", lambda: _plain(14, 14), "too_small", "x.png"),
    _bad("jpeg-truncated", lambda: JPEG[: len(JPEG) // 2], "truncated_image"),
    _bad("picture-zero-bytes", lambda: b"", "empty_file"),
    _bad("text-named-jpg", lambda: b"this is no picture", "not_an_image"),
    _bad("html-named-jpg", lambda: b"<!DOCTYPE html><html><body>404</body></html>", "not_an_image"),
    _bad("no-extension", lambda: JPEG, "unsupported_file", "x"),
    _bad("svg", lambda: b"<svg/>", "unsupported_file", "x.svg"),
    _bad("pdf", lambda: b"%PDF-1.7", "unsupported_file", "x.pdf"),
    _bad("psd", lambda: b"8BPS", "unsupported_file", "x.psd"),
    Case(
        "same-content",
        lambda: good_and(Entry("cat/again.png", picture(1000))),
        classes=GOOD,
        rejected=("duplicate",),
        words=("duplicates",),
    ),
    Case(
        "same-content-two-labels",
        lambda: good_and(Entry("dog/again.png", picture(1000))),
        classes={"cat": 2, "dog": 3},
        rejected=("conflicting_labels",) * 2,
    ),
    Case(
        "near-duplicate",
        lambda: good_and(Entry("cat/burst.jpg", encoded(noise(48, 40, 1000), "JPEG", quality=80))),
        classes=MORE,
        words=("near_duplicates",),
    ),
    Case(
        "tiny-picture",
        lambda: good_and(Entry("cat/x.png", encoded(noise(16, 16, 3), "PNG"))),
        classes=MORE,
        words=("tiny_pictures",),
    ),
)
