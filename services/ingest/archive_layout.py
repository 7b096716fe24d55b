"""From the paths in an archive to one label a file. Pure.

The layout is a folder per class. The label is the first folder that tells files apart; deeper folders do not count:

    photos/2026/cat/indoor/1.jpg, photos/2026/dog/2.jpg   -> cat, dog      (wrapping folders are stripped)
    train/cat/1.jpg, test/dog/2.jpg                       -> cat, dog      (split folders are ignored)

Split folders are ignored because a sample's side follows from its content, once and for all data sets.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SPLIT_FOLDERS = frozenset({"train", "training", "val", "valid", "validation", "test", "testing"})
_JUNK_FOLDERS = frozenset({"__macosx", ".git", ".svn", "@eadir", "$recycle.bin"})
_JUNK_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini", ".gitkeep", ".directory"})

Path = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """What was seen above the class folders. `labels` are in the order of the paths; None for a file without one."""

    labels: tuple[str | None, ...]
    wrapping: Path
    split_folders: tuple[str, ...]


def is_junk(path: Path) -> bool:
    """What operating systems leave in archives; nobody meant to upload it."""
    name = path[-1].lower()
    if name in _JUNK_FILES or name.startswith("._"):
        return True
    return any(folder.lower() in _JUNK_FOLDERS for folder in path[:-1])


def path_fault(name: str) -> str | None:
    """Why a name is not a place inside the archive; None when it is one."""
    if name.startswith("/") or (len(name) > 1 and name[1] == ":" and name[0].isascii() and name[0].isalpha()):
        return "its name is an absolute path"
    if ".." in name.split("/"):
        return "its name leads out of the archive with '..'"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "its name holds control characters"
    return None


def path_of(name: str) -> Path:
    """Folders and file name; `.` and doubled separators do not count."""
    return tuple(part for part in name.split("/") if part not in ("", "."))


def read_layout(paths: Sequence[Path]) -> Layout:
    """Labels for the samples of one archive."""
    folders = [tuple(part.strip() for part in path[:-1]) for path in paths]
    wrapping, folders = _strip_wrapping(folders)
    splits = _split_folders(folders)
    if splits:
        folders = [path[1:] if path and path[0] in splits else path for path in folders]
    labels = tuple(path[0] if path else None for path in folders)
    return Layout(labels, wrapping, tuple(sorted(splits)))


def _strip_wrapping(folders: list[Path]) -> tuple[Path, list[Path]]:
    """Strip the first folder while all files lie in it and most of them lie deeper.

    Most, not all: one stray photograph beside the class folders must not turn the wrapping folder into the class.
    """
    wrapping: Path = ()
    while _first_is_wrapping(folders):
        first = next(path[0] for path in folders if path)
        wrapping = (*wrapping, first)
        folders = [path[1:] for path in folders]
    return wrapping, folders


def _first_is_wrapping(folders: list[Path]) -> bool:
    firsts = {path[0] if path else None for path in folders}
    deeper = sum(len(path) > 1 for path in folders)
    return len(firsts) == 1 and None not in firsts and 2 * deeper > len(folders)


def _split_folders(folders: list[Path]) -> frozenset[str]:
    """The first folders when there are two or more, all named like splits, and most files lie deeper."""
    counts = Counter(path[0] for path in folders if path)
    deeper = sum(len(path) > 1 for path in folders)
    if len(counts) > 1 and all(name.lower() in SPLIT_FOLDERS for name in counts) and 2 * deeper > sum(counts.values()):
        return frozenset(counts)
    return frozenset()
