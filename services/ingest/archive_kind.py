"""What an upload is, by its first bytes and never by its name. Pure."""

import tarfile
from typing import Literal

HEAD_BYTES = 512
Kind = Literal["zip", "tar", "gzip", "bzip2", "xz", "7z", "rar", "zstd", "file", "empty"]

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_UNREAD = {"7z": "a 7z archive", "rar": "a RAR archive", "zstd": "a zstd file"}
_SINGLE = (
    (b"\xff\xd8\xff", "JPEG", ".jpg"),
    (b"\x89PNG", "PNG", ".png"),
    (b"GIF8", "GIF", ".gif"),
    (b"BM", "BMP", ".bmp"),
    (b"II*\x00", "TIFF", ".tif"),
    (b"MM\x00*", "TIFF", ".tif"),
)
PACK = "pack the class folders as a zip or tar.gz and upload that"


def kind_of(head: bytes) -> Kind:
    """`head` is the beginning of the file, HEAD_BYTES where it has them. A zip may begin as any file does."""
    if not head:
        return "empty"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if is_tar(head) else "file"


def is_tar(head: bytes) -> bool:
    """Whether it begins with a tar header whose checksum holds."""
    try:
        tarfile.TarInfo.frombuf(head[:HEAD_BYTES], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def unreadable(head: bytes, file_name: str) -> tuple[str, str]:
    """Code and sentence for a file that is no archive that can be read; `head` as for `kind_of`."""
    kind = kind_of(head)
    if kind == "empty":
        return "empty_file", f"{file_name}: the file is empty; upload it again."
    if kind == "zip":
        return "truncated_archive", f"{file_name}: the zip archive breaks off before its end; upload it again."
    if kind in _UNREAD:
        return "unsupported_archive", f"{file_name}: this is {_UNREAD[kind]}, which is not read; {PACK}."
    if kind != "file":
        return "not_an_archive", f"{file_name}: this is a {kind} file with no tar archive in it; {PACK}."
    single = single_file(head)
    if single is not None:
        what = f"this is a single {single[0]} picture and nobody said of which class"
        return "label_missing", f"{file_name}: {what}; upload it with its label (--label, ?label=) or {PACK}."
    return "not_an_archive", f"{file_name}: this is neither a zip nor a tar archive; {PACK}."


def single_file(head: bytes) -> tuple[str, str] | None:
    """The format of a picture and its usual extension; None where it is nothing that is known."""
    if head[4:8] == b"ftyp":
        return ("AVIF", ".avif") if head[8:12] in (b"avif", b"avis") else ("HEIC", ".heic")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP", ".webp"
    return next(((name, extension) for magic, name, extension in _SINGLE if head.startswith(magic)), None)
