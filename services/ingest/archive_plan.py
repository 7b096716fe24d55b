"""Which entries of an archive are samples, under which label, and why the others are not. Pure."""

import stat
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from chassis.errors import PermanentError
from chassis.manifests import Rejection
from services.ingest.archive_layout import Path, is_junk, path_fault, path_of, read_layout
from services.ingest.archive_names import decoded_names

ENCRYPTED_FLAG = 0x1
_UNIX = 3
_SMALL_BYTES = 1_000_000  # below this an entry is harmless whatever its ratio
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")


@dataclass(frozen=True)
class ArchiveLimits:
    """Sizes in bytes. `ratio`: an entry over 1 MB may unpack to at most so many times its packed size."""

    entries: int = 500_000
    unpacked_bytes: int = 50_000_000_000
    sample_bytes: int = 25_000_000
    ratio: int = 200


@dataclass(frozen=True)
class PlannedEntry:
    """A sample to be read: `name` is its decoded path."""

    info: zipfile.ZipInfo
    name: str
    label: str


@dataclass(frozen=True)
class ArchivePlan:
    """Samples in the order of the archive, and the entries refused without being read."""

    entries: tuple[PlannedEntry, ...]
    rejections: tuple[Rejection, ...]


Accepts = Callable[[str], bool]


def plan_archive(
    infos: Sequence[zipfile.ZipInfo], accepts: Accepts, limits: ArchiveLimits, file_name: str
) -> ArchivePlan:
    """Deterministic. Raises PermanentError when the archive as a whole is beyond the limits."""
    if len(infos) > limits.entries:
        sentence = f"{file_name}: {len(infos)} entries, the limit is {limits.entries}; split it into several archives."
        raise PermanentError("too_many_entries", sentence)
    candidates: dict[Path, zipfile.ZipInfo] = {}
    rejections: list[Rejection] = []
    for info, name in zip(infos, decoded_names(infos), strict=True):
        if name.endswith("/") or not (path := path_of(name)) or is_junk(path):
            continue
        refusal = _refusal(info, name, accepts, limits) or _doubled(name, path in candidates)
        if refusal is None:
            candidates[path] = info
        else:
            rejections.append(refusal)
    _check_total(candidates.values(), limits, file_name)
    entries, unlabelled = _labelled(candidates)
    return ArchivePlan(entries, (*rejections, *unlabelled))


def _refusal(info: zipfile.ZipInfo, name: str, accepts: Accepts, limits: ArchiveLimits) -> Rejection | None:
    if fault := path_fault(name):
        return Rejection(name, "unsafe_path", f"{name!r}: {fault}; pack the folders again and upload that.")
    if info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16):
        return Rejection(name, "symbolic_link", f"{name}: a symbolic link; put the file itself in its place.")
    if name.lower().endswith(_ARCHIVES):
        return Rejection(name, "nested_archive", f"{name}: an archive in the archive; unpack it into a class folder.")
    if not accepts(name):
        return Rejection(name, "unsupported_file", f"{name}: files of this type are no samples; leave it out.")
    if info.flag_bits & ENCRYPTED_FLAG:
        return Rejection(name, "encrypted_entry", f"{name}: it is protected by a password; pack it without one.")
    return _size_refusal(info, name, limits)


def _size_refusal(info: zipfile.ZipInfo, name: str, limits: ArchiveLimits) -> Rejection | None:
    if info.file_size > _SMALL_BYTES and info.file_size > limits.ratio * max(info.compress_size, 1):
        sentence = (
            f"{name}: it would unpack from {info.compress_size} bytes to {info.file_size / 1e6:.0f} MB, more than "
            f"{limits.ratio} times as much, as bombs do; save it as JPEG or PNG."
        )
        return Rejection(name, "suspicious_compression", sentence)
    if info.file_size > limits.sample_bytes:
        size, most = info.file_size / 1e6, limits.sample_bytes / 1e6
        return Rejection(name, "too_large", f"{name}: {size:.1f} MB, the limit is {most:.0f} MB; send a smaller one.")
    return None


def _doubled(name: str, is_there: bool) -> Rejection | None:
    if not is_there:
        return None
    return Rejection(name, "duplicate_name", f"{name}: an earlier entry of the archive has the same name; rename one.")


def _check_total(infos: Iterable[zipfile.ZipInfo], limits: ArchiveLimits, file_name: str) -> None:
    total = sum(info.file_size for info in infos)
    if total > limits.unpacked_bytes:
        size, most = total / 1e9, limits.unpacked_bytes / 1e9
        sentence = f"{file_name}: it unpacks to {size:.1f} GB, the limit is {most:.1f} GB; split it into several."
        raise PermanentError("archive_too_large", sentence)


def _labelled(candidates: dict[Path, zipfile.ZipInfo]) -> tuple[tuple[PlannedEntry, ...], list[Rejection]]:
    labels = read_layout(list(candidates)).labels
    entries, rejections = [], []
    for (path, info), label in zip(candidates.items(), labels, strict=True):
        name = "/".join(path)
        if label:
            entries.append(PlannedEntry(info, name, label))
        else:
            sentence = f"{name}: it lies in no class folder, so it has no label; put it into one."
            rejections.append(Rejection(name, "no_label", sentence))
    return tuple(entries), rejections
