"""Two thousand damaged uploads: whatever arrives, the API answers, the import ends, and nothing is left hanging.

The cases follow from SEED alone. The damage goes into archives and, within good archives, into pictures.
"""

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.inputs import picture_cases
from tests.inputs.case import good_and, good_files, packed, tarred
from tests.platform import InlinePlatform, Uploaded
from tests.unit.ingest.archives import Entry
from tests.unit.learning.pictures import encoded, noise

SEED = 20260101
CASES = 2000
PICTURES = 40  # in one archive: cases of damaged pictures share an upload, which is far faster
LONGEST_S = 60.0  # of one upload; far above what any takes, it tells a hang

ENDS = {"ready", "rejected"}
Damage = Callable[[random.Random, bytearray], None]


def _flip(draw: random.Random, content: bytearray) -> None:
    for _ in range(draw.randint(1, 20)):
        content[draw.randrange(len(content))] = draw.randrange(256)


def _cut(draw: random.Random, content: bytearray) -> None:
    del content[draw.randrange(len(content)) :]


def _drop(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    del content[start : start + draw.randint(1, 200)]


def _double(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    content[start:start] = content[start : start + draw.randint(1, 2000)]


def _zero(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    piece = min(draw.randint(1, 64), len(content) - start)
    content[start : start + piece] = bytes(piece)


def _max(draw: random.Random, content: bytearray) -> None:
    """Lengths and counts at their greatest, near either end, where headers and tables of contents are."""
    start = draw.randrange(min(600, len(content)))
    start = start if draw.random() < 0.5 else len(content) - 1 - start
    content[start : start + 4] = b"\xff\xff\xff\xff"[: len(content) - start]


DAMAGES: Sequence[Damage] = (_flip, _cut, _drop, _double, _zero, _max)


def damaged(content: bytes, number: int) -> bytes:
    """One to three damages that follow from the number."""
    draw, target = random.Random(number), bytearray(content)
    for _ in range(draw.randint(1, 3)):
        if target:
            draw.choice(DAMAGES)(draw, target)
    return bytes(target)


ARCHIVES = (
    packed(good_files()),
    good_and(Entry("labels.csv", b"file,label\ncat/0.png,cat\ncat/1.png,cat\ndog/0.png,dog\ndog/1.png,dog\n")),
    tarred(good_files()),
    tarred(good_files(), "w:gz"),
    tarred(good_files(), "w:bz2"),
    tarred(good_files(), "w:xz"),
    encoded(noise(48, 40, 1), "JPEG"),
)
KINDS = (
    *("exif-6", "jpeg-progressive", "jpeg-cmyk", "jpeg-icc", "mpo", "png-palette-transparent", "png-16-bit-grey"),
    *("apng", "gif-animated", "webp-animated", "tiff-pages", "tiff-float", "bmp", "heic", "avif", "jpeg-2000"),
)


def _pictures() -> list[tuple[str, bytes]]:
    """Extension and content of a picture of each kind."""
    return [picture_cases.FILES[kind] for kind in KINDS]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_whatever_arrives_the_import_ends(capsys: pytest.CaptureFixture[str]) -> None:
    tally: Counter[str] = Counter()
    pictures = _pictures()
    numbers = st.integers(0, 2**32)

    @seed(SEED)
    @settings(
        max_examples=CASES // 2,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(range(len(ARCHIVES))), numbers)
    def archive_case(which: int, number: int) -> None:
        uploaded = _upload(damaged(ARCHIVES[which], number))
        tally[f"archive {uploaded.outcome}"] += 1

    @seed(SEED)
    @settings(
        max_examples=CASES // 2 // PICTURES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(numbers)
    def picture_cases_of_one_archive(number: int) -> None:
        draw = random.Random(number)
        entries = []
        for place in range(PICTURES):
            extension, content = draw.choice(pictures)
            entries.append(Entry(f"cat/bad{place}{extension}", damaged(content, number + place)))
        uploaded = _upload(good_and(*entries))
        assert uploaded.outcome == "ready", uploaded
        tally.update(f"picture {code}" for code, _ in uploaded.rejections)

    archive_case()
    picture_cases_of_one_archive()
    with capsys.disabled():
        print(f"\nseed {SEED}: {dict(tally)}")  # noqa: T201 - how often each end was reached, for whoever runs it
    assert tally["picture decoder_failed"] == 0, "a decoder's fault that has no name of its own yet"


def _upload(content: bytes) -> Uploaded:
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        uploaded = asyncio.run(InlinePlatform(Path(folder)).upload(content, "photos.zip", "cat"))
        assert time.monotonic() - started < LONGEST_S
    assert uploaded.version is None or uploaded.version["status"] in ENDS, uploaded
    assert uploaded.refused is not None or uploaded.version is not None
    return uploaded
