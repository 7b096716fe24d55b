"""An image list: a CSV file in the archive that says which file has which label. Pure.

`labels.csv` is one in any case; another CSV is one when it is the only one and its columns are named.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chassis.manifests import Rejection
from services.ingest.archive_layout import Path, path_of
from services.ingest.archive_names import composed

LIST_NAME = "labels.csv"
_FILE_COLUMNS = frozenset(
    {"file", "filename", "file_name", "image", "image_name", "imagename", "name", "path", "文件名"}
)
_LABEL_COLUMNS = frozenset({"label", "labels", "class", "class_name", "classname", "category", "标签"})
_SEPARATORS = ",;\t|"


class NoList(Exception):
    """The file is no image list; the message says why."""


@dataclass(frozen=True)
class Line:
    """One line of a list, from 1."""

    number: int
    file: str
    label: str


@dataclass(frozen=True)
class Labelling:
    """Labels by path, and what the list and the archive disagree about."""

    labels: dict[Path, str]
    rejections: tuple[Rejection, ...]


def choose_list(paths: Iterable[Path]) -> tuple[Path | None, list[Path]]:
    """The list among the CSV files of an archive, and those that might have been: several, none called labels.csv."""
    found = sorted((path for path in paths if path[-1].lower().endswith(".csv")), key=lambda path: (len(path), path))
    named = [path for path in found if path[-1].lower() == LIST_NAME]
    if named or len(found) == 1:
        return (named or found)[0], []
    return None, found


def read_list(content: bytes) -> list[Line]:
    """Raises NoList."""
    rows = _rows(_text(content))
    header = next((number for number, row in enumerate(rows) if any(row)), None)
    if header is None:
        raise NoList("it is empty")
    file_at, label_at = _columns([cell.lower() for cell in rows[header]])
    lines = []
    for number, row in enumerate(rows[header + 1 :], start=header + 2):
        file = row[file_at] if len(row) > file_at else ""
        if file:
            lines.append(Line(number, file, row[label_at] if len(row) > label_at else ""))
    return lines


def apply_list(lines: Sequence[Line], place: Path, paths: Iterable[Path]) -> Labelling:
    """Only what the list names is a sample; its label counts whatever the folder is called."""
    name = "/".join(place)
    finder = _Finder(paths, place[:-1])
    said: defaultdict[Path, dict[str, int]] = defaultdict(dict)
    rejections = []
    for line in lines:
        path = finder.find(line.file)
        if path is None:
            sentence = (
                f"{line.file}: {name} names it in line {line.number}, but the archive holds no such file; add it."
            )
            rejections.append(Rejection(line.file, "missing_file", sentence))
        else:
            said[path].setdefault(line.label, line.number)
    labels = {path: next(iter(found)) for path, found in said.items() if len(found) == 1}
    rejections += [_disputed(path, found, name) for path, found in said.items() if len(found) > 1]
    rejections += [_unlisted(path, name) for path in finder.paths if path not in said]
    return Labelling(labels, tuple(rejections))


def _disputed(path: Path, found: dict[str, int], name: str) -> Rejection:
    labels = ", ".join(f"{label} (line {line})" for label, line in found.items())
    file = "/".join(path)
    return Rejection(file, "several_labels", f"{file}: {name} gives it several labels: {labels}; keep the true one.")


def _unlisted(path: Path, name: str) -> Rejection:
    file = "/".join(path)
    return Rejection(file, "not_listed", f"{file}: {name} has no line for it, so it has no label; add one.")


class _Finder:
    """Finds what a list means by a file: its path beside the list or in the archive, or a bare name that is unique."""

    def __init__(self, paths: Iterable[Path], folder: Path) -> None:
        self.paths = list(paths)
        self._folder = folder
        self._known = set(self.paths)
        self._folded = {_folded(path): path for path in self.paths}
        names: defaultdict[str, list[Path]] = defaultdict(list)
        for path in self.paths:
            names[path[-1].casefold()].append(path)
        self._by_name = {name: found[0] for name, found in names.items() if len(found) == 1}

    def find(self, file: str) -> Path | None:
        path = path_of(composed(file))
        if not path:
            return None
        for candidate in (self._folder + path, path):
            if candidate in self._known:
                return candidate
            if _folded(candidate) in self._folded:
                return self._folded[_folded(candidate)]
        return self._by_name.get(path[-1].casefold()) if len(path) == 1 else None


def _folded(path: Path) -> Path:
    return tuple(part.casefold() for part in path)


def _columns(header: Sequence[str]) -> tuple[int, int]:
    files = [at for at, cell in enumerate(header) if cell in _FILE_COLUMNS]
    labels = [at for at, cell in enumerate(header) if cell in _LABEL_COLUMNS]
    if not files or not labels:
        raise NoList("its first line names no columns 'file' and 'label'")
    return files[0], labels[0]


def _rows(text: str) -> list[list[str]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(_SEPARATORS, key=first.count)
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    except csv.Error as error:
        raise NoList(str(error)) from error


def _text(content: bytes) -> str:
    """UTF-16 where a mark says so, else UTF-8, else GBK."""
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "gb18030")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise NoList("its text is neither UTF-8 nor GBK")
