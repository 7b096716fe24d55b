"""Image lists, and single pictures with their label."""

from tests.inputs.case import GOOD, GOOD_BEFORE, Case, Earlier, good_files, packed, picture, tarred
from tests.unit.learning.pictures import encoded, noise

JPEG = encoded(noise(60, 40, 77), "JPEG")
FILES = {f"{number}.png": picture(number) for number in range(6)}
LINES = [(name, "cat" if number < 3 else "dog") for number, name in enumerate(FILES)]


def _list(separator: str = ",", header: str = "file,label", lines: list[tuple[str, str]] | None = None) -> str:
    rows = [header.replace(",", separator), *(separator.join(line) for line in lines or LINES)]
    return "\n".join(rows) + "\n"


def _zip(text: str | bytes, name: str = "labels.csv", **more: bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    return packed({**FILES, **{name_.replace("_", "."): one for name_, one in more.items()}, name: content})


def _in_folder() -> bytes:
    return packed(
        {f"set/images/{name}": content for name, content in FILES.items()} | {"set/labels.csv": _list().encode()}
    )


OVER = b"file,label\n" + b"".join(b"%s,dog\n" % name.encode() for name in good_files() if name > "cat/1.png")
OVER += b"cat/0.png,cat\ncat/1.png,cat\n"
CHINESE = _list(header="文件名,标签", lines=[(name, {"cat": "猫", "dog": "狗"}[label]) for name, label in LINES])

CASES = (
    Case("csv-commas", lambda: _zip(_list()), classes=GOOD),
    Case("csv-semicolons", lambda: _zip(_list(";", "Filename,Class")), classes=GOOD),
    Case("csv-tabs", lambda: _zip(_list("\t", "image,category")), classes=GOOD),
    Case("csv-bom", lambda: _zip(_list().encode("utf-8-sig")), classes=GOOD),
    Case("csv-utf16", lambda: _zip(_list().encode("utf-16")), classes=GOOD),
    Case("csv-gbk", lambda: _zip(CHINESE.encode("gbk")), classes={"猫": 3, "狗": 3}),
    Case("csv-other-name", lambda: _zip(_list(), "train.csv"), classes=GOOD),
    Case("csv-in-folder", _in_folder, classes=GOOD),
    Case(
        "csv-in-tar",
        lambda: tarred({**FILES, "labels.csv": _list().encode()}, "w:gz"),
        classes=GOOD,
        file_name="photos.tar.gz",
    ),
    Case(
        "csv-backslashes",
        lambda: packed(
            {f"a/{n}": c for n, c in FILES.items()}
            | {"labels.csv": _list(lines=[(f"a\\{n}", t) for n, t in LINES]).encode()}
        ),
        classes=GOOD,
    ),
    Case("csv-over-folders", lambda: packed(good_files() | {"labels.csv": OVER}), classes={"cat": 2, "dog": 4}),
    Case(
        "csv-missing-file",
        lambda: _zip(_list(lines=[*LINES, ("gone.png", "cat")])),
        classes=GOOD,
        rejected=("missing_file",),
        words=("line 8",),
    ),
    Case("csv-not-listed", lambda: _zip(_list(), more_png=picture(99)), classes=GOOD, rejected=("not_listed",)),
    Case(
        "csv-several-labels",
        lambda: _zip(_list(lines=[*LINES, ("0.png", "dog")])),
        classes={"cat": 2, "dog": 3},
        rejected=("several_labels",),
    ),
    Case("csv-same-line-twice", lambda: _zip(_list(lines=[*LINES, LINES[0]])), classes=GOOD),
    Case(
        "csv-empty-label",
        lambda: _zip(_list(lines=[("0.png", ""), *LINES[1:]])),
        classes={"cat": 2, "dog": 3},
        rejected=("no_label",),
    ),
    Case(
        "csv-no-columns",
        lambda: packed(good_files() | {"sizes.csv": b"width,height\n1,2\n"}),
        classes=GOOD,
        rejected=("unreadable_list",),
    ),
    Case(
        "csv-several",
        lambda: packed(good_files() | {"a.csv": b"x", "b.csv": b"y"}),
        classes=GOOD,
        rejected=("unclear_list",) * 2,
    ),
    Case("csv-empty", lambda: packed(good_files() | {"labels.csv": b""}), classes=GOOD, rejected=("unreadable_list",)),
    Case(
        "single-jpeg", lambda: JPEG, classes={"cat": 4, "dog": 3}, label="cat", file_name="photo.jpg", onto=GOOD_BEFORE
    ),
    Case(
        "single-png-no-name",
        lambda: picture(5),
        classes={"cat": 3, "dog": 3, "fish": 1},
        outcome="class_too_small",
        label="fish",
        file_name="upload",
        onto=GOOD_BEFORE,
    ),
    Case(
        "single-first",
        lambda: JPEG,
        "too_few_classes",
        label="cat",
        file_name="photo.jpg",
        words=("the next upload adds to it",),
    ),
    Case(
        "single-second",
        lambda: picture(6),
        "class_too_small",
        classes={"cat": 1, "dog": 1},
        label="dog",
        file_name="photo.png",
        onto=Earlier(lambda: JPEG, "photo.jpg", "cat", "too_few_classes"),
    ),
    Case("single-no-label", lambda: JPEG, "label_missing", file_name="photo.jpg", words=("--label",)),
    Case(
        "single-damaged",
        lambda: JPEG[:200],
        classes=GOOD,
        rejected=("truncated_image",),
        label="cat",
        file_name="photo.jpg",
        onto=GOOD_BEFORE,
    ),
    Case("single-text", lambda: b"hello", "not_an_archive", label="cat", file_name="photo.jpg"),
    Case(
        "zip-flat-with-label",
        lambda: packed({"1.png": picture(1), "2.png": picture(2), "dog/3.png": picture(3), "dog/4.png": picture(4)}),
        classes={"cat": 2, "dog": 2},
        label="cat",
    ),
)
