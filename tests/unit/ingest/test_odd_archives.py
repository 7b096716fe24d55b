"""The archives that people upload: what becomes of each entry, by name."""

import gzip
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chassis.errors import PermanentError
from services.ingest.archives import ArchiveLimits
from tests.unit.ingest.archives import ENCRYPTED, SYMLINK, Entry, run_import, unicode_path, zipped

CAT_NFD = "cafe\u0301/1.jpg"


@dataclass(frozen=True)
class Row:
    """An archive, its samples with their labels, its refused entries with their codes; junk is in neither."""

    title: str
    archive: bytes
    labels: dict[str, str] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)


GBK_CAT, GBK_DOG = "猫/照片一.jpg".encode("gbk"), "狗狗/照片二.jpg".encode("gbk")

TABLE = [
    Row("a folder per class", zipped("cat/1.jpg", "dog/2.png"), {"cat/1.jpg": "cat", "dog/2.png": "dog"}),
    Row("one class only", zipped("cat/1.jpg", "cat/2.jpg"), {"cat/1.jpg": "cat", "cat/2.jpg": "cat"}),
    Row(
        "wrapping folders of any depth",
        zipped("a/b/cat/1.jpg", "a/b/dog/2.jpg"),
        {"a/b/cat/1.jpg": "cat", "a/b/dog/2.jpg": "dog"},
    ),
    Row(
        "a stray photograph beside the class folders",
        zipped("all/cat/1.jpg", "all/dog/2.jpg", "all/dog/3.jpg", "all/stray.jpg"),
        {"all/cat/1.jpg": "cat", "all/dog/2.jpg": "dog", "all/dog/3.jpg": "dog"},
        {"all/stray.jpg": "no_label"},
    ),
    Row(
        "a stray photograph at the top",
        zipped("cat/1.jpg", "dog/2.jpg", "stray.jpg"),
        {"cat/1.jpg": "cat", "dog/2.jpg": "dog"},
        {"stray.jpg": "no_label"},
    ),
    Row(
        "folders within a class",
        zipped("cat/in/1.jpg", "cat/out/2.jpg", "dog/3.jpg"),
        {"cat/in/1.jpg": "cat", "cat/out/2.jpg": "cat", "dog/3.jpg": "dog"},
    ),
    Row(
        "train and test folders",
        zipped("data/train/cat/1.jpg", "data/test/cat/2.jpg", "data/test/dog/3.jpg"),
        {"data/train/cat/1.jpg": "cat", "data/test/cat/2.jpg": "cat", "data/test/dog/3.jpg": "dog"},
    ),
    Row(
        "a class called train",
        zipped("train/1.jpg", "bus/2.jpg"),
        {"train/1.jpg": "train", "bus/2.jpg": "bus"},
    ),
    Row(
        "what macOS and Windows leave behind",
        zipped("cat/1.jpg", "__MACOSX/cat/._1.jpg", "cat/._1.jpg", "cat/.DS_Store", "cat/Thumbs.db", "desktop.ini"),
        {"cat/1.jpg": "cat"},
    ),
    Row("entries for folders", zipped("cat/", "cat/1.jpg", "dog/", b"fish\\"), {"cat/1.jpg": "cat"}),
    Row(
        "names in GBK",
        zipped(GBK_CAT, GBK_DOG),
        {"猫/照片一.jpg": "猫", "狗狗/照片二.jpg": "狗狗"},
    ),
    Row(
        "a GBK character that ends in 0x5C",
        zipped("許誠/照片.jpg".encode("gbk"), GBK_DOG, GBK_CAT),
        {"許誠/照片.jpg": "許誠", "狗狗/照片二.jpg": "狗狗", "猫/照片一.jpg": "猫"},
    ),
    Row("accents in cp437", zipped("Übung/1.jpg".encode("cp437")), {"Übung/1.jpg": "Übung"}),
    Row("UTF-8 without the flag", zipped("猫/1.jpg".encode()), {"猫/1.jpg": "猫"}),
    Row(
        "the Unicode path field",
        zipped(Entry(b"mao/1.jpg", extra=unicode_path(b"mao/1.jpg", "猫/1.jpg"))),
        {"猫/1.jpg": "猫"},
    ),
    Row(
        "a Unicode path field of another name",
        zipped(Entry(b"cat/1.jpg", extra=unicode_path(b"old/1.jpg", "猫/1.jpg"))),
        {"cat/1.jpg": "cat"},
    ),
    Row(
        "backslashes", zipped(b"all\\cat\\1.jpg", b"all\\dog\\2.jpg"), {"all/cat/1.jpg": "cat", "all/dog/2.jpg": "dog"}
    ),
    Row("an emoji", zipped("🐈/1.jpg", "🐕/2.jpg"), {"🐈/1.jpg": "🐈", "🐕/2.jpg": "🐕"}),
    Row("decomposed accents", zipped(CAT_NFD), {"caf\u00e9/1.jpg": "caf\u00e9"}),
    Row(
        "the same name, composed and decomposed",
        zipped("caf\u00e9/1.jpg", CAT_NFD, "dog/2.jpg"),
        {"caf\u00e9/1.jpg": "caf\u00e9", "dog/2.jpg": "dog"},
        {"caf\u00e9/1.jpg": "duplicate_name"},
    ),
    Row("the same name twice", zipped("cat/1.jpg", "cat/1.jpg"), {"cat/1.jpg": "cat"}, {"cat/1.jpg": "duplicate_name"}),
    Row(
        "a way out of the archive",
        zipped("cat/1.jpg", "../../etc/passwd.jpg", "cat/../../x.jpg", "/etc/1.jpg", "C:\\Windows\\1.jpg"),
        {"cat/1.jpg": "cat"},
        dict.fromkeys(("../../etc/passwd.jpg", "cat/../../x.jpg", "/etc/1.jpg", "C:/Windows/1.jpg"), "unsafe_path"),
    ),
    Row(
        "a symbolic link",
        zipped("cat/1.jpg", Entry("cat/link.jpg", b"/etc/passwd", attributes=SYMLINK)),
        {"cat/1.jpg": "cat"},
        {"cat/link.jpg": "symbolic_link"},
    ),
    Row(
        "an entry that is a bomb",
        zipped("cat/1.jpg", Entry("cat/bomb.bmp", bytes(5_000_000), packed=zipfile.ZIP_DEFLATED)),
        {"cat/1.jpg": "cat"},
        {"cat/bomb.bmp": "suspicious_compression"},
    ),
    Row(
        "a password",
        zipped("cat/1.jpg", Entry("cat/secret.jpg", flags=ENCRYPTED)),
        {"cat/1.jpg": "cat"},
        {"cat/secret.jpg": "encrypted_entry"},
    ),
    Row(
        "archives within",
        zipped("cat/1.jpg", Entry("more.zip", zipped("dog/1.jpg")), "old.tar.gz"),
        {"cat/1.jpg": "cat"},
        {"more.zip": "nested_archive", "old.tar.gz": "nested_archive"},
    ),
    Row(
        "files of other types",
        zipped("cat/1.jpg", "readme.txt", "cat/1.json", "cat/noextension"),
        {"cat/1.jpg": "cat"},
        dict.fromkeys(("readme.txt", "cat/1.json", "cat/noextension"), "unsupported_file"),
    ),
    Row("capital extensions", zipped("cat/1.JPG", "cat/2.JPEG"), {"cat/1.JPG": "cat", "cat/2.JPEG": "cat"}),
    Row("dots in names", zipped("v1.2/a.b.jpg", "v1.3/c.jpg"), {"v1.2/a.b.jpg": "v1.2", "v1.3/c.jpg": "v1.3"}),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.title)
def test_each_entry_becomes_a_sample_or_is_refused_by_name(row: Row, tmp_path: Path) -> None:
    imported = run_import(row.archive, tmp_path)
    assert imported.labels == row.labels
    assert imported.codes == row.codes
    assert imported.result["counts"]["sample_count"] == len(row.labels)


def test_every_refusal_names_its_file(tmp_path: Path) -> None:
    for row in TABLE:
        for rejection in run_import(row.archive, tmp_path).rejections:
            assert rejection.name.rsplit("/", 1)[-1] in rejection.sentence


def test_an_entry_with_a_wrong_checksum_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    archive = zipped(Entry("cat/1.jpg", b"AAAA"), Entry("cat/2.jpg", b"BBBB")).replace(b"AAAA", b"XXXX")
    imported = run_import(archive, tmp_path)
    assert imported.labels == {"cat/2.jpg": "cat"}
    assert imported.codes == {"cat/1.jpg": "damaged_entry"}


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"", "empty_file", "empty"),
        (b"\x1f\x8b\x08" + bytes(300), "damaged_archive", "damaged"),
        (gzip.compress(b"no tar in here"), "not_an_archive", "gzip"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(300), "unsupported_archive", "7z"),
        (b"Rar!\x1a\x07\x01" + bytes(300), "unsupported_archive", "RAR"),
        (b"\xff\xd8\xff" + bytes(300), "label_missing", "JPEG"),
        (b"hello", "not_an_archive", "zip"),
        (zipped("cat/1.jpg")[:60], "truncated_archive", "breaks off"),
    ],
)
def test_what_is_no_zip_is_called_by_its_name(content: bytes, code: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match=word) as caught:
        run_import(content, tmp_path)
    assert caught.value.code == code
    assert "photos.zip" in caught.value.sentence


@pytest.mark.parametrize(
    ("archive", "code", "words"),
    [
        (zipped(), "empty_archive", ("no files", "one folder a class")),
        (zipped("cat/"), "empty_archive", ("no files",)),
        (zipped("1.jpg", "2.jpg"), "nothing_usable", ("2 x no_label", "1.jpg", "one folder a class")),
        (zipped("a.txt", "b.jpg"), "nothing_usable", ("no_label", "unsupported_file")),
    ],
)
def test_nothing_usable_says_what_was_found(archive: bytes, code: str, words: tuple[str, ...], tmp_path: Path) -> None:
    imported = run_import(archive, tmp_path)
    assert imported.chunks == []
    assert imported.result["failure"]["code"] == code
    for word in words:
        assert word in imported.result["failure"]["sentence"]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (ArchiveLimits(entries=1), "too_many_entries"),
        (ArchiveLimits(unpacked_bytes=10), "archive_too_large"),
    ],
)
def test_an_archive_beyond_the_limits_is_refused_unread(limits: ArchiveLimits, code: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="split it") as caught:
        run_import(zipped("cat/1.jpg", "cat/2.jpg"), tmp_path, limits)
    assert caught.value.code == code


def test_a_sample_beyond_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    archive = zipped(Entry("cat/1.jpg", b"x" * 30), Entry("cat/2.jpg", b"y" * 3))
    imported = run_import(archive, tmp_path, ArchiveLimits(sample_bytes=20))
    assert imported.codes == {"cat/1.jpg": "too_large"}


def test_nothing_stays_in_the_scratch_folder(tmp_path: Path) -> None:
    run_import(zipped("cat/1.jpg"), tmp_path)
    assert list(tmp_path.iterdir()) == []
