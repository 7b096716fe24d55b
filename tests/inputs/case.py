"""A row of docs/inputs.md as something that can be uploaded and judged."""

import io
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from services.ingest.archives import ArchiveLimits
from tests.platform import Uploaded
from tests.unit.ingest.archives import Entry, zipped
from tests.unit.learning.pictures import encoded, noise


@dataclass(frozen=True)
class Earlier:
    """What is in the data set already, and what became of it."""

    make: Callable[[], bytes]
    file_name: str = "good.zip"
    label: str | None = None
    outcome: str = "ready"


@dataclass(frozen=True)
class Case:
    """`outcome` is `ready` or the code of the failure; `rejected` the codes of the refused files, each as often as it
    occurs; `words` must stand in some sentence of the answer. `limits` replace ingest's, in one process only.
    `onto` is uploaded into the same data set before.
    """

    id: str
    make: Callable[[], bytes]
    outcome: str = "ready"
    classes: Mapping[str, int] | None = None
    rejected: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    file_name: str = "photos.zip"
    label: str | None = None
    onto: Earlier | None = None
    limits: ArchiveLimits | None = field(default=None)


def judge(case: Case, uploaded: Uploaded) -> None:
    """Fails when the answer is not what the row says."""
    assert uploaded.outcome == case.outcome, uploaded
    if case.classes is not None:
        assert uploaded.classes == dict(case.classes)
    assert Counter(code for code, _ in uploaded.rejections) == Counter(case.rejected), uploaded.rejections
    text = str(uploaded)
    for word in case.words:
        assert word in text, f"{word!r} is not said: {text}"


def picture(seed: int = 0) -> bytes:
    """A small PNG unlike that of any other seed."""
    return encoded(noise(48, 40, seed), "PNG")


def good_files(count: int = 3) -> dict[str, bytes]:
    """`count` pictures each of cat and dog."""
    labels = ("cat", "dog")
    return {
        f"{label}/{number}.png": picture(1000 * (1 + at) + number)
        for at, label in enumerate(labels)
        for number in range(count)
    }


GOOD = {"cat": 3, "dog": 3}
GOOD_BEFORE = Earlier(lambda: packed(good_files()))


def packed(files: Mapping[str | bytes, bytes] | Mapping[str, bytes], **options: Any) -> bytes:
    """A zip of the files."""
    return zipped(*(Entry(name, content, **options) for name, content in files.items()))


def good_and(*entries: Entry) -> bytes:
    """A zip of good files and these."""
    return zipped(*(Entry(name, content) for name, content in good_files().items()), *entries)


def tarred(files: Mapping[str, bytes], mode: str = "w", *members: tarfile.TarInfo, **options: Any) -> bytes:
    """A tar of the files, and of members without content."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode, **options) as archive:  # type: ignore[call-overload]  # any mode that writes
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for member in members:
            archive.addfile(member)
    return target.getvalue()


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A link or a device."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def deflated(name: str, content: bytes) -> Entry:
    """An entry that is packed."""
    return Entry(name, content, packed=zipfile.ZIP_DEFLATED)
