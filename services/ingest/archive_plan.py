"""Which entries of an archive are samples, under which label, and why the others are not. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chassis.errors import PermanentError
from chassis.manifests import Rejection
from services.ingest.archive_layout import Path, is_junk, path_fault, path_of, read_layout
from services.ingest.archives import LIST_BYTES, SMALL_BYTES, Archive, ArchiveLimits, Entry, EntryDamaged
from services.ingest.image_list import LIST_NAME, NoList, apply_list, choose_list, read_list

_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_LONGEST_NAME, _LONGEST_PART = 4096, 255  # bytes in UTF-8; what file systems take
_LINKS = {
    "symbolic_link": "a symbolic link; put the file itself in its place",
    "hard_link": "a link to another entry; put the file itself in its place",
    "special_file": "a device or pipe, no file; leave it out",
}


@dataclass(frozen=True)
class PlannedEntry:
    """A sample to be read: `name` is its decoded path."""

    entry: Entry
    name: str
    label: str


@dataclass(frozen=True)
class ArchivePlan:
    """Samples in the order of the archive, and the entries refused without being read."""

    entries: tuple[PlannedEntry, ...]
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True)
class Upload:
    """What the plan must know beside the archive. `label`, if given, is the class of files that lie in no folder.

    `accepts` says by its name whether a file may be a sample of the task.
    """

    file_name: str
    accepts: Callable[[str], bool]
    limits: ArchiveLimits
    label: str | None = None


def plan_archive(archive: Archive, upload: Upload) -> ArchivePlan:
    """Deterministic. Raises PermanentError when the archive as a whole is beyond the limits."""
    limits = upload.limits
    if len(archive.entries) > limits.entries:
        sentence = f"{len(archive.entries)} entries, the limit is {limits.entries}; split it into several archives."
        raise PermanentError("too_many_entries", f"{upload.file_name}: {sentence}")
    candidates: dict[Path, Entry] = {}
    lists: dict[Path, Entry] = {}
    rejections: list[Rejection] = []
    for entry in archive.entries:
        if entry.kind == "folder" or entry.name.endswith("/"):
            continue
        if not (path := path_of(entry.name)) or is_junk(path):
            continue
        if path[-1].lower().endswith(".csv") and entry.kind == "file" and path_fault(entry.name) is None:
            lists.setdefault(path, entry)
            continue
        refusal = _refusal(entry, upload) or _doubled(entry.name, path in candidates)
        if refusal is None:
            candidates[path] = entry
        else:
            rejections.append(refusal)
    _check_total(candidates.values(), upload)
    labels, more = _labels(archive, candidates, lists, upload)
    planned, unlabelled = _labelled(candidates, labels)
    return ArchivePlan(planned, (*rejections, *more, *unlabelled))


def _labels(
    archive: Archive, candidates: dict[Path, Entry], lists: dict[Path, Entry], upload: Upload
) -> tuple[dict[Path, str], list[Rejection]]:
    """By the image list where there is one, else by the folders."""
    chosen, undecided = choose_list(lists)
    refused = [_undecided(path) for path in undecided]
    if chosen is not None:
        try:
            lines = read_list(_list_content(archive, lists[chosen]))
        except NoList as fault:
            refused.append(_no_list(chosen, fault))
        else:
            found = apply_list(lines, chosen, candidates)
            return found.labels, [*refused, *found.rejections]
    layout = read_layout(list(candidates))
    pairs = zip(candidates, layout.labels, strict=True)
    return {path: label or upload.label or "" for path, label in pairs}, refused


def _list_content(archive: Archive, entry: Entry) -> bytes:
    if entry.is_encrypted:
        raise NoList("it is protected by a password")
    if entry.size > LIST_BYTES:
        raise NoList(f"it has more than {LIST_BYTES / 1e6:.0f} MB")
    try:
        return archive.text(entry)
    except EntryDamaged as damage:
        raise NoList(f"it cannot be unpacked: {damage}") from damage


def _undecided(path: Path) -> Rejection:
    name = "/".join(path)
    sentence = f"{name}: there are several CSV files and none is called {LIST_NAME}; call the one that counts so."
    return Rejection(name, "unclear_list", sentence)


def _no_list(path: Path, fault: NoList) -> Rejection:
    name = "/".join(path)
    sentence = f"{name}: it is not read as an image list ({fault}); the folders count. Mend it or leave it out."
    return Rejection(name, "unreadable_list", sentence)


def _refusal(entry: Entry, upload: Upload) -> Rejection | None:
    name = entry.name
    if fault := path_fault(name):
        return Rejection(name, "unsafe_path", f"{name!r}: {fault}; pack the folders again and upload that.")
    if (kind := entry.kind) in _LINKS:
        return Rejection(name, kind, f"{name}: {_LINKS[kind]}.")
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME or _longest_part(name) > _LONGEST_PART:
        short = f"{name[:40]}..."
        return Rejection(
            short, "name_too_long", f"{short}: a part of its path has over {_LONGEST_PART} bytes; rename it."
        )
    if name.lower().endswith(_ARCHIVES):
        return Rejection(name, "nested_archive", f"{name}: an archive in the archive; unpack it into a class folder.")
    if not upload.accepts(name):
        sentence = f"{name}: files of this type are no samples; convert it (pictures to JPEG or PNG) or leave it out."
        return Rejection(name, "unsupported_file", sentence)
    if entry.is_encrypted:
        return Rejection(name, "encrypted_entry", f"{name}: it is protected by a password; pack it without one.")
    return _size_refusal(entry, upload.limits)


def _longest_part(name: str) -> int:
    return max(len(part.encode("utf-8", "replace")) for part in name.split("/"))


def _size_refusal(entry: Entry, limits: ArchiveLimits) -> Rejection | None:
    name, packed = entry.name, entry.packed_size
    if packed is not None and entry.size > SMALL_BYTES and entry.size > limits.ratio * max(packed, 1):
        sentence = (
            f"{name}: it would unpack from {packed} bytes to {entry.size / 1e6:.0f} MB, more than "
            f"{limits.ratio} times as much, as bombs do; save it as JPEG or PNG."
        )
        return Rejection(name, "suspicious_compression", sentence)
    if entry.size > limits.sample_bytes:
        size, most = entry.size / 1e6, limits.sample_bytes / 1e6
        return Rejection(name, "too_large", f"{name}: {size:.1f} MB, the limit is {most:.0f} MB; send a smaller one.")
    return None


def _doubled(name: str, is_there: bool) -> Rejection | None:
    if not is_there:
        return None
    return Rejection(name, "duplicate_name", f"{name}: an earlier entry of the archive has the same name; rename one.")


def _check_total(entries: Iterable[Entry], upload: Upload) -> None:
    total, most = sum(entry.size for entry in entries), upload.limits.unpacked_bytes
    if total > most:
        sentence = f"it unpacks to {total / 1e9:.1f} GB, the limit is {most / 1e9:.1f} GB; split it into several."
        raise PermanentError("archive_too_large", f"{upload.file_name}: {sentence}")


def _labelled(
    candidates: dict[Path, Entry], labels: dict[Path, str]
) -> tuple[tuple[PlannedEntry, ...], list[Rejection]]:
    """`labels` leaves out what is refused already."""
    entries, rejections = [], []
    for path, entry in candidates.items():
        name = "/".join(path)
        if label := labels.get(path, "").strip():
            entries.append(PlannedEntry(entry, name, label))
        elif path in labels:
            sentence = f"{name}: no class folder and no list gives it a label; put it into a class folder."
            rejections.append(Rejection(name, "no_label", sentence))
    return tuple(entries), rejections
