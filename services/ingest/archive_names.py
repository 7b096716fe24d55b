"""What the names in an archive say, in whatever encoding its author's machine wrote them. Pure.

A name is decoded first and its separators are read afterwards: the second byte of a GBK character may be 0x5C,
which is a backslash in ASCII.
Source: PKWARE APPNOTE 6.3.10, sections 4.4.4 (bit 11) and 4.6.9 (Unicode path field, 0x7075).
"""

import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import Literal

Legacy = Literal["gb18030", "cp437"]

UTF8_FLAG = 0x800
UNICODE_PATH_FIELD = 0x7075
_COMMON_SHARE = 0.5


def zip_names(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The names, in order, as `composed` says.

    By declaration where there is one (UTF-8 flag, Unicode path field); names that declare nothing are UTF-8
    where they are valid UTF-8, otherwise all of one legacy encoding, judged over the whole archive.
    """
    raws = [_raw_name(entry) for entry in entries]
    return _decoded(raws, [_declared_name(entry, raw) for entry, raw in zip(entries, raws, strict=True)])


def tar_names(names: Iterable[str]) -> list[str]:
    """As `zip_names`; what is no UTF-8 comes in surrogates (PEP 383). A tar never declares an encoding."""
    raws = [name.encode("utf-8", "surrogateescape") for name in names]
    return _decoded(raws, [_as_utf8(raw) for raw in raws])


def composed(name: str) -> str:
    """With `/` between folders, and in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", name.replace("\\", "/"))


def _decoded(raws: Sequence[bytes], declared: Sequence[str | None]) -> list[str]:
    legacy = legacy_encoding(raw for raw, name in zip(raws, declared, strict=True) if name is None)
    names = (raw.decode(legacy, "replace") if name is None else name for raw, name in zip(raws, declared, strict=True))
    return [composed(name) for name in names]


def legacy_encoding(raws: Iterable[bytes]) -> Legacy:
    """GBK where every name is valid in it and most of its characters are common ones, else the zip default.

    Western accents in cp437 are lone high bytes between ASCII letters: read as GBK they are invalid or give rare
    characters outside the GB 2312 plane (both bytes at least 0xA1), which real Chinese names seldom use.
    """
    common = rare = 0
    for raw in raws:
        try:
            text = raw.decode("gb18030")
        except UnicodeDecodeError:
            return "cp437"
        for character in text:
            if ord(character) > 0x7F:
                code = character.encode("gb18030")
                is_common = len(code) == 2 and 0xA1 <= code[0] <= 0xF7 and code[1] >= 0xA1
                common, rare = common + is_common, rare + (not is_common)
    return "gb18030" if common and common >= _COMMON_SHARE * (common + rare) else "cp437"


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    """The bytes in the archive: zipfile decodes without telling from which of the two encodings it knows."""
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & UTF8_FLAG else "cp437")


def _declared_name(entry: zipfile.ZipInfo, raw: bytes) -> str | None:
    """None where the archive says nothing, or nothing that holds."""
    if entry.flag_bits & UTF8_FLAG:
        return entry.orig_filename
    try:
        return _unicode_path(entry.extra, raw) or _as_utf8(raw)
    except (UnicodeDecodeError, struct.error):
        return None


def _as_utf8(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """The field counts only while its checksum is that of the plain name: a renaming tool may have left it stale."""
    while len(extra) >= 4:
        field, size = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + size], extra[4 + size :]
        if field == UNICODE_PATH_FIELD and len(body) > 5 and body[0] == 1:
            (checksum,) = struct.unpack_from("<L", body, 1)
            if checksum == zlib.crc32(raw):
                return body[5:].decode("utf-8")
    return None
