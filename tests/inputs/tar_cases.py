"""Tar archives, packed and plain."""

import gzip
import io
import tarfile

from services.ingest.archives import ArchiveLimits
from tests.inputs.case import GOOD, Case, good_files, member, picture, tarred

TGZ = "photos.tar.gz"


def _and(*members: tarfile.TarInfo) -> bytes:
    return tarred(good_files(), "w:gz", *members)


def _with(**files: bytes) -> bytes:
    return tarred(
        good_files() | {name.replace("__", "/").replace("_", "."): content for name, content in files.items()}
    )


def _gbk() -> bytes:
    files = {f"{'猫' if at < 2 else '狗'}/照片{at}.png": picture(at) for at in range(4)}
    return tarred(files, format=tarfile.GNU_FORMAT, encoding="gbk")


def _bomb() -> bytes:
    return tarred(good_files() | {"cat/bomb.png": bytes(20_000_000)}, "w:gz")


def _damaged_header() -> bytes:
    content = bytearray(tarred(good_files()))
    second = 512 + (len(picture(1000)) + 511) // 512 * 512
    content[second : second + 8] = b"\xff" * 8
    return bytes(content)


def _damaged_gzip() -> bytes:
    content = bytearray(tarred(good_files(), "w:gz"))
    content[len(content) // 2] ^= 0xFF
    return bytes(content)


def _gzip_twice() -> bytes:
    content = tarred(good_files())
    half = len(content) // 2
    return gzip.compress(content[:half]) + gzip.compress(content[half:])


def _long_header() -> bytes:
    info = tarfile.TarInfo("cat/1.png")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(2000)


def _empty() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz"):
        pass
    return target.getvalue()


CASES = (
    Case("tar-plain", lambda: tarred(good_files()), classes=GOOD, file_name="photos.tar"),
    Case("tar-gz", lambda: tarred(good_files(), "w:gz"), classes=GOOD, file_name=TGZ),
    Case("tar-bz2", lambda: tarred(good_files(), "w:bz2"), classes=GOOD, file_name="photos.tar.bz2"),
    Case("tar-xz", lambda: tarred(good_files(), "w:xz"), classes=GOOD, file_name="photos.tar.xz"),
    Case("tar-gz-members", _gzip_twice, classes=GOOD, file_name=TGZ),
    Case(
        "tar-long-names",
        lambda: tarred({f"{'d' * 120}/{n}": c for n, c in good_files().items()}, "w:gz"),
        classes=GOOD,
        file_name=TGZ,
    ),
    Case("tar-gbk-names", _gbk, classes={"猫": 2, "狗": 2}, file_name="photos.tar"),
    Case(
        "tar-symlink",
        lambda: _and(member("cat/l.png", tarfile.SYMTYPE, "/etc/passwd")),
        classes=GOOD,
        rejected=("symbolic_link",),
        file_name=TGZ,
    ),
    Case(
        "tar-hard-link",
        lambda: _and(member("cat/l.png", tarfile.LNKTYPE, "cat/0.png")),
        classes=GOOD,
        rejected=("hard_link",),
        file_name=TGZ,
    ),
    Case(
        "tar-device",
        lambda: _and(member("cat/d.png", tarfile.CHRTYPE), member("cat/p.png", tarfile.FIFOTYPE)),
        classes=GOOD,
        rejected=("special_file",) * 2,
        file_name=TGZ,
    ),
    Case(
        "tar-unsafe-path",
        lambda: tarred(good_files() | {"../x.png": b"x", "/etc/x.png": b"x"}),
        classes=GOOD,
        rejected=("unsafe_path",) * 2,
        file_name="photos.tar",
    ),
    Case("tar-gz-bomb", _bomb, "suspicious_compression", file_name=TGZ),
    Case("tar-too-many-entries", lambda: _and(), "too_many_entries", limits=ArchiveLimits(entries=3), file_name=TGZ),
    Case(
        "tar-bomb-total", lambda: _and(), "archive_too_large", limits=ArchiveLimits(unpacked_bytes=1000), file_name=TGZ
    ),
    Case("tar-long-header", _long_header, "damaged_archive", file_name="photos.tar"),
    Case("tar-truncated", lambda: tarred(good_files())[:4000], "truncated_archive", file_name="photos.tar"),
    Case("tar-gz-truncated", lambda: tarred(good_files(), "w:gz")[:-300], "truncated_archive", file_name=TGZ),
    Case("tar-damaged-header", _damaged_header, "damaged_archive", file_name="photos.tar"),
    Case("tar-gz-damaged", _damaged_gzip, "damaged_archive", file_name=TGZ),
    Case("tar-empty", _empty, "empty_archive", file_name=TGZ),
    Case("gz-of-no-tar", lambda: gzip.compress(picture()), "not_an_archive", file_name="photo.png.gz"),
    Case(
        "tar-nested", lambda: _with(more_zip=b"PK"), classes=GOOD, rejected=("nested_archive",), file_name="photos.tar"
    ),
)
