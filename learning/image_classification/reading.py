"""Read an uploaded picture completely, once: upright, 8 bits, RGB or grey, at most 4096 pixels a side.

Every limit is that of the upload; predicting has its own limit on bytes, in front of this.
"""

import functools
import io
import struct
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from learning.errors import SampleRejected
from learning.task import Prepared

EXTENSIONS = (
    ".avif", ".bmp", ".gif", ".heic", ".heif", ".j2k", ".jp2", ".jpeg", ".jpg", ".mpo", ".png", ".tif", ".tiff",
    ".webp",
)  # fmt: skip
# MPO is not among them: Pillow opens it as JPEG and then calls it MPO.
_FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "TIFF", "WEBP")
# Stored as they are: every browser shows them, and a photograph is not compressed a second time.
_MEDIA_TYPES = {"JPEG": "image/jpeg", "MPO": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_LOSSY = ("AVIF", "HEIF", "JPEG", "JPEG2000", "MPO", "WEBP")
_UNCOMMON = ("AVIF", "HEIF", "JPEG2000")
_FIT_MODES = ("RGB", "L")

MAX_BYTES = 25_000_000
MAX_PIXELS = 100_000_000
MAX_SIDE = 4096  # pixels; larger pictures are brought down
MIN_SIDE = 15  # pixels
THUMBNAIL_SIDE = 256  # pixels
_LEAST_CONTRAST = 12  # levels of 255 between the darkest and the brightest field of the grid
_FEWEST_SIGNS = 8  # of 64, either way
_FROM_FLOATS = "Brought from fractions between 0 and 1 to 8 bits a pixel."
_EXIF_ORIENTATION = 0x0112
# What Pillow's decoders raise for damaged data, beside OSError; those of HEIC and AVIF raise RuntimeError.
_DAMAGE = (OSError, SyntaxError, ValueError, IndexError, struct.error, EOFError, RuntimeError)


@dataclass
class _Work:
    """A picture on its way: `notes` tell what was changed; none means that the original bytes are fit."""

    image: Image.Image
    notes: list[str] = field(default_factory=list)

    def replace(self, image: Image.Image, note: str) -> None:
        self.image = image
        self.notes.append(note)


def read_picture(raw: bytes, filename: str) -> Prepared:
    """Decode, check and bring into shape. Raises SampleRejected: empty_file, too_large, not_an_image,
    truncated_image, too_small.
    """
    image = open_picture(raw, filename)
    source_format = image.format or ""
    _load(image, raw, filename)
    work = _Work(image)
    _normalise(work)
    upright = work.image
    content, media_type = raw, _MEDIA_TYPES.get(source_format, "")
    if work.notes or not media_type:
        content, media_type = _encode(upright, source_format in _LOSSY)
    return Prepared(
        content=content,
        media_type=media_type,
        width=upright.width,
        height=upright.height,
        notes=tuple(work.notes),
        thumbnail=_thumbnail(upright),
        fingerprint=fingerprint_of(upright),
    )


def open_picture(raw: bytes, filename: str) -> Image.Image:
    """Open without decoding the pixels; limits are judged by the header. Raises SampleRejected."""
    if not raw:
        raise SampleRejected("empty_file", f"{filename}: the file is empty; upload it again.")
    if len(raw) > MAX_BYTES:
        raise _too_large(filename, f"{len(raw) / 1e6:.1f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB")
    formats: tuple[str, ...] = _FORMATS
    if raw[4:8] == b"ftyp":
        _learn_heif()
        formats = (*_FORMATS, "HEIF")
    try:
        image = Image.open(io.BytesIO(raw), formats=formats)
    except Image.DecompressionBombError as error:
        raise _too_large(filename, f"it unpacks to more than {MAX_PIXELS / 1e6:.0f} megapixels") from error
    except UnidentifiedImageError as error:
        kinds = "JPEG, PNG, WebP, HEIC, AVIF, BMP, GIF, TIFF or JPEG 2000"
        sentence = f"{filename}: this is not a picture that can be read; send {kinds}."
        raise SampleRejected("not_an_image", sentence) from error
    except _DAMAGE as error:
        raise _truncated(filename, raw) from error
    if image.width * image.height > MAX_PIXELS:
        size = f"{image.width * image.height / 1e6:.0f} megapixels, the limit is {MAX_PIXELS / 1e6:.0f}"
        raise _too_large(filename, size)
    if min(image.size) < MIN_SIDE:
        sentence = (
            f"{filename}: {image.width} x {image.height} pixels are too few; send a picture of at least "
            f"{MIN_SIDE} pixels a side."
        )
        raise SampleRejected("too_small", sentence)
    return image


@functools.cache
def _learn_heif() -> None:
    """Pillow reads the pictures of phones through a plug-in, which is registered when the first of them comes."""
    from pillow_heif import register_heif_opener

    register_heif_opener()


def decode_square(raw: bytes, filename: str, side: int) -> Image.Image:
    """The picture upright in RGB, squeezed to `side` x `side` pixels: the way into the network, when training and
    when predicting. Whole JPEG pictures are decoded at the smallest scale that suffices. Raises SampleRejected.
    """
    image = open_picture(raw, filename)
    if image.format in ("JPEG", "MPO"):
        image.draft("RGB", (side, side))
    _load(image, raw, filename)
    work = _Work(image)
    _turn_upright(work)
    _to_eight_bits(work)
    return work.image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)


def fingerprint_of(image: Image.Image) -> str:
    """The difference hash: 64 signs of horizontal brightness steps on a 9 x 8 grid, 16 hexadecimal digits.

    Near duplicates (scaled, recompressed) differ in few bits. Empty for a picture that is nearly uniform or a plain
    gradient: its signs are noise, or those of any other. Source: Krawetz, dHash (2013).
    """
    grey = np.asarray(image.convert("L").resize((9, 8), Image.Resampling.BOX), np.int16)
    signs = grey[:, 1:] > grey[:, :-1]
    is_telling = np.ptp(grey) >= _LEAST_CONTRAST and _FEWEST_SIGNS <= signs.sum() <= signs.size - _FEWEST_SIGNS
    return np.packbits(signs).tobytes().hex() if is_telling else ""


def _load(image: Image.Image, raw: bytes, filename: str) -> None:
    try:
        image.load()
    except _DAMAGE as error:
        raise _truncated(filename, raw) from error


def _normalise(work: _Work) -> None:
    if work.image.format in _UNCOMMON:
        work.notes.append("Stored as JPEG, which every browser shows.")
    if work.image.format != "MPO" and _is_animated(work.image):
        work.notes.append("Only the first of its pictures is used.")
    _turn_upright(work)
    _to_eight_bits(work)
    longest = max(work.image.size)
    if longest > MAX_SIDE:
        scale = MAX_SIDE / longest
        size = (max(1, round(work.image.width * scale)), max(1, round(work.image.height * scale)))
        small = work.image.resize(size, Image.Resampling.LANCZOS)
        work.replace(small, f"Brought down to {MAX_SIDE} pixels on the longer side.")


def _is_animated(image: Image.Image) -> bool:
    """Looks for a second picture; one that is damaged is one, too."""
    try:
        return bool(getattr(image, "is_animated", False))
    except _DAMAGE:
        return True


def _turn_upright(work: _Work) -> None:
    if work.image.getexif().get(_EXIF_ORIENTATION, 1) in range(2, 9):
        work.replace(ImageOps.exif_transpose(work.image), "Turned upright as its EXIF data say.")


def _to_eight_bits(work: _Work) -> None:
    """Leave RGB or L, 8 bits; transparency becomes white, deep grey is scaled by the bits it uses."""
    image = work.image
    if image.mode in _FIT_MODES and "transparency" not in image.info:
        return
    if image.mode.startswith(("I", "F")):
        work.replace(*_scale_depth(image))
    elif image.has_transparency_data:
        coloured = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        work.replace(Image.alpha_composite(white, coloured).convert("RGB"), "Transparency was replaced by white.")
    else:
        work.replace(image.convert("RGB"), f"Converted from {image.mode} to RGB.")


def _scale_depth(image: Image.Image) -> tuple[Image.Image, str]:
    values = np.nan_to_num(np.asarray(image, np.float64))
    highest = float(values.max())
    if image.mode == "F" and highest <= 1.0:
        return Image.fromarray(np.clip(values * 255.0, 0, 255).round().astype(np.uint8), "L"), _FROM_FLOATS
    highest = max(highest, 1.0)
    bits = next((bits for bits in (8, 10, 12, 14, 16) if highest < 2**bits), 32)
    full = 255.0 if bits == 8 else float(2**bits - 1) if bits < 32 else highest
    grey = np.clip(values * (255.0 / full), 0, 255).round().astype(np.uint8)
    return Image.fromarray(grey, "L"), f"Brought from {bits} bits a pixel to 8."


def _encode(image: Image.Image, is_lossy: bool) -> tuple[bytes, str]:
    target = io.BytesIO()
    if is_lossy:
        image.save(target, "JPEG", quality=95)
        return target.getvalue(), "image/jpeg"
    image.save(target, "PNG", compress_level=3)
    return target.getvalue(), "image/png"


def _thumbnail(image: Image.Image) -> bytes:
    small = image.copy() if max(image.size) <= THUMBNAIL_SIDE else image
    small = small.convert("RGB")
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Image.Resampling.BILINEAR)
    target = io.BytesIO()
    small.save(target, "JPEG", quality=80)
    return target.getvalue()


def _too_large(filename: str, size: str) -> SampleRejected:
    return SampleRejected("too_large", f"{filename}: the picture is too large ({size}); send a smaller one.")


def _truncated(filename: str, raw: bytes) -> SampleRejected:
    return SampleRejected(
        "truncated_image",
        f"{filename}: the file breaks off or is damaged after {len(raw) / 1000:.0f} kB, before the picture is "
        "complete; upload it again.",
    )
