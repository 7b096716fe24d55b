"""Zip archives, whole ones and odd ones."""

import io
import zipfile

from services.ingest.archives import ArchiveLimits
from tests.inputs.case import GOOD, Case, Earlier, deflated, good_and, good_files, packed, picture, tarred
from tests.unit.ingest.archives import ENCRYPTED, SYMLINK, Entry, unicode_path, zipped

FIFO = 0o010644 << 16


def _of(label: str) -> dict[str, bytes]:
    return {name: content for name, content in good_files().items() if name.startswith(f"{label}/")}


CATS_BEFORE = Earlier(lambda: packed(_of("cat")), "cats.zip", outcome="too_few_classes")
ALL_ONE_CLASS_BEFORE = Earlier(
    lambda: packed({f"pets/{name.replace('/', '-')}": content for name, content in good_files().items()}),
    "pets.zip",
    outcome="too_few_classes",
)


def _streamed() -> bytes:
    class Pipe(io.RawIOBase):
        """Cannot seek, so that zipfile writes data descriptors."""

        def __init__(self) -> None:
            self.written = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]  # narrower than any buffer, as zipfile calls it
            self.written += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name, content in good_files().items():
            archive.writestr(name, content)
    return bytes(pipe.written)


def _zip64() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in good_files().items():
            with archive.open(name, "w", force_zip64=True) as entry:
                entry.write(content)
    return target.getvalue()


def _commented() -> bytes:
    target = io.BytesIO(packed(good_files()))
    with zipfile.ZipFile(target, "a") as archive:
        archive.comment = b"made by hand"
    return target.getvalue()


def _damaged() -> bytes:
    return good_and(Entry("cat/bad.png", b"AAAAAAAAAAAAAAAA")).replace(b"AAAAAAAAAAAAAAAA", b"AAAAAAAAAAAAAAAB", 1)


def _method_99() -> bytes:
    content = bytearray(good_and(Entry("cat/odd.png", picture())))
    for header, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = content.rindex(header)
        content[place + at : place + at + 2] = (99).to_bytes(2, "little")
    return bytes(content)


def _renamed(old: str, new: str | bytes) -> dict[str | bytes, bytes]:
    encoded_name = new if isinstance(new, bytes) else new.encode()
    return {name.encode().replace(old.encode(), encoded_name): content for name, content in good_files().items()}


def _classes(**names: str) -> dict[str, int]:
    return {names.get(label, label): count for label, count in GOOD.items()}


def _under(prefix: str) -> bytes:
    return packed({f"{prefix}{name}": content for name, content in good_files().items()})


def _gbk_5c() -> bytes:
    names = ("許誠/照片.png", "狗狗/照片二.png", "猫/照片一.png", "狗狗/三.png", "猫/四.png", "許誠/五.png")
    return zipped(*(Entry(name.encode("gbk"), picture(at)) for at, name in enumerate(names)))


def _gbk() -> bytes:
    names = ("猫/照片一.png", "猫/照片二.png", "狗/照片三.png", "狗/照片四.png")
    return zipped(*(Entry(name.encode("gbk"), picture(at)) for at, name in enumerate(names)))


def _path_field() -> bytes:
    files = zip(
        ("猫/1.png", "猫/2.png", "狗/1.png", "狗/2.png"), (b"a/1.png", b"a/2.png", b"b/1.png", b"b/2.png"), strict=True
    )
    return zipped(*(Entry(raw, picture(at), extra=unicode_path(raw, name)) for at, (name, raw) in enumerate(files)))


def _split() -> bytes:
    sides = ("train", "val", "test")
    files = {f"{sides[at % 3]}/{name}": content for at, (name, content) in enumerate(good_files().items())}
    return packed(files)


def _class_called(name: str) -> Case | bytes:
    return packed(_renamed("cat/", f"{name}/"))


def _ten_thousand() -> bytes:
    small = [picture(number) for number in range(20)]
    files = {f"cat/{number}.png": small[number % 20] for number in range(10_000)}
    return packed(files | {f"dog/{number}.png": picture(100 + number) for number in range(3)})


def _encrypted(*names: str) -> bytes:
    return zipped(*(Entry(name, picture(), flags=ENCRYPTED) for name in names))


LONG = "e" * 255

CASES = (
    Case("zip-folders", lambda: packed(good_files()), classes=GOOD),
    Case("zip-utf8-names", lambda: packed(_renamed("cat", "猫")), classes=_classes(cat="猫")),
    Case("zip-gbk-names", _gbk, classes={"猫": 2, "狗": 2}),
    Case("zip-gbk-5c", _gbk_5c, classes={"許誠": 2, "狗狗": 2, "猫": 2}),
    Case("zip-cp437-names", lambda: packed(_renamed("cat", "Übung".encode("cp437"))), classes=_classes(cat="Übung")),
    Case("zip-unicode-path-field", _path_field, classes={"猫": 2, "狗": 2}),
    Case("zip-backslashes", lambda: packed(_renamed("/", b"\\")), classes=GOOD),
    Case("zip-wrapped-deep", lambda: _under("a/b/c/d/"), classes=GOOD),
    Case("zip-split-folders", _split, classes=GOOD),
    Case("zip-deeper-folders", lambda: packed(_renamed("cat/", "cat/indoor/")), classes=GOOD),
    Case("zip-stray-file", lambda: good_and(Entry("stray.png", picture())), classes=GOOD, rejected=("no_label",)),
    Case("zip-flat", lambda: packed({"1.png": picture()}), "nothing_usable", rejected=("no_label",)),
    Case("zip-comment", _commented, classes=GOOD),
    Case("zip-prefix", lambda: b"#!/bin/sh\nexit 0\n" + packed(good_files()), classes=GOOD),
    Case("zip64", _zip64, classes=GOOD),
    Case("zip-streamed", _streamed, classes=GOOD),
    Case(
        "zip-encrypted",
        lambda: _encrypted("cat/1.png", "dog/1.png"),
        "nothing_usable",
        rejected=("encrypted_entry",) * 2,
        words=("password",),
    ),
    Case(
        "zip-encrypted-entry",
        lambda: good_and(Entry("cat/x.png", flags=ENCRYPTED)),
        classes=GOOD,
        rejected=("encrypted_entry",),
    ),
    Case(
        "zip-bomb-ratio",
        lambda: good_and(deflated("cat/bomb.bmp", bytes(5_000_000))),
        classes=GOOD,
        rejected=("suspicious_compression",),
    ),
    Case(
        "zip-bomb-total", lambda: packed(good_files()), "archive_too_large", limits=ArchiveLimits(unpacked_bytes=1000)
    ),
    Case("zip-too-many-entries", lambda: packed(good_files()), "too_many_entries", limits=ArchiveLimits(entries=3)),
    Case(
        "zip-large-sample",
        lambda: good_and(Entry("cat/x.png", bytes(25_000_001))),
        classes=GOOD,
        rejected=("too_large",),
    ),
    Case(
        "zip-nested",
        lambda: good_and(Entry("more.zip", packed(good_files()))),
        classes=GOOD,
        rejected=("nested_archive",),
    ),
    Case("zip-10000-files", _ten_thousand, classes={"cat": 20, "dog": 3}, rejected=("duplicate",) * 1000),
    Case("zip-empty-folders", lambda: good_and(Entry("fish/", b"")), classes=GOOD),
    Case("zip-one-class", lambda: packed({f"cat/{n}.png": picture(n) for n in range(4)}), "too_few_classes"),
    Case("zip-second-class", lambda: packed(_of("dog")), classes=GOOD, onto=CATS_BEFORE),
    Case("zip-labels-mended", lambda: packed(good_files()), classes=GOOD, onto=ALL_ONE_CLASS_BEFORE),
    Case("zip-one-a-class", lambda: packed({"cat/1.png": picture(1), "dog/1.png": picture(2)}), "class_too_small"),
    Case("zip-class-emoji", lambda: packed(_renamed("cat", "🐈")), classes=_classes(cat="🐈")),
    Case("zip-class-nfd", lambda: packed(_renamed("cat", "cafe\u0301")), classes=_classes(cat="caf\u00e9")),
    Case("zip-class-255-bytes", lambda: packed(_renamed("cat", LONG)), classes=_classes(cat=LONG)),
    Case(
        "zip-class-too-long",
        lambda: good_and(Entry(f"{LONG}e/1.png", picture())),
        classes=GOOD,
        rejected=("name_too_long",),
    ),
    Case("zip-class-number", lambda: packed(_renamed("cat", "007")), classes=_classes(cat="007")),
    Case("zip-class-spaces", lambda: packed(_renamed("cat", " big cat ")), classes=_classes(cat="big cat")),
    Case(
        "zip-duplicate-name",
        lambda: good_and(Entry("cat/0.png", picture())),
        classes=GOOD,
        rejected=("duplicate_name",),
    ),
    Case(
        "zip-case-only",
        lambda: good_and(Entry("CAT/0.png", picture(1)), Entry("CAT/1.png", picture(2))),
        classes={**GOOD, "CAT": 2},
    ),
    Case(
        "zip-symlink",
        lambda: good_and(Entry("cat/l.png", b"/etc/passwd", attributes=SYMLINK)),
        classes=GOOD,
        rejected=("symbolic_link",),
    ),
    Case(
        "zip-fifo", lambda: good_and(Entry("cat/f.png", b"", attributes=FIFO)), classes=GOOD, rejected=("special_file",)
    ),
    Case(
        "zip-absolute-path",
        lambda: good_and(Entry("/etc/x.png"), Entry("C:\\x.png")),
        classes=GOOD,
        rejected=("unsafe_path",) * 2,
    ),
    Case("zip-dotdot-path", lambda: good_and(Entry("../../x.png")), classes=GOOD, rejected=("unsafe_path",)),
    Case("zip-macosx", lambda: good_and(Entry("__MACOSX/cat/._1.png"), Entry("cat/.DS_Store")), classes=GOOD),
    Case("zip-empty", zipped, "empty_archive"),
    Case("zero-bytes", lambda: b"", "empty_archive"),
    Case("zip-truncated", lambda: packed(good_files())[:-2000], "truncated_archive"),
    Case("zip-bad-crc", _damaged, classes=GOOD, rejected=("damaged_entry",)),
    Case("zip-method-unknown", _method_99, classes=GOOD, rejected=("damaged_entry",)),
    Case(
        "zip-text-beside",
        lambda: good_and(Entry("readme.txt"), Entry("cat/notes.md")),
        classes=GOOD,
        rejected=("unsupported_file",) * 2,
    ),
    Case("archive-7z", lambda: b"7z\xbc\xaf\x27\x1c" + bytes(300), "unsupported_archive", words=("7z",)),
    Case("archive-rar", lambda: b"Rar!\x1a\x07\x01" + bytes(300), "unsupported_archive", words=("RAR",)),
    Case("archive-text", lambda: b"hello", "not_an_archive"),
    Case("tar-named-zip", lambda: tarred(good_files()), classes=GOOD),
)
