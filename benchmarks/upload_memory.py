"""How much memory the services need for a large upload, in one request and in parts, on the running local stack.

    make up && python benchmarks/upload_memory.py --mb 2000

Prints one JSON line; the ratio that matters is the largest peak by the size of the archive. The archive is written to
disk once, piece by piece, and deleted at the end: noise that no packer makes smaller, most pictures small, some as
large as they may be, and padding that is refused. Peaks are in MB, of each service and of its job processes, read
from /proc (Linux) every 100 ms.
"""

import argparse
import json
import sys
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from PIL import Image

from benchmarks.peaks import watched
from easyloop.client import Client, connect
from easyloop.errors import EasyLoopError
from infra.local.layout import Layout
from infra.local.supervisor_client import Supervisor

SERVICES = ("gateway", "ingest")
SMALL, LARGE = (1000, 800), (3000, 2700)  # pixels: 2.4 MB and 24.3 MB as noise, 25 MB are allowed
EVERY = 20  # each so many pictures one is large
PADDING_PART = 0.1
STEP = 1 << 20
LIMIT_MB = 300


def write_archive(path: Path, megabytes: int) -> None:
    """A zip of stored entries in two classes; a tenth of it is padding."""
    noise = np.random.default_rng(7)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("cat/padding.bin", "w", force_zip64=True) as padding:
            for _ in range(int(megabytes * PADDING_PART)):
                padding.write(noise.bytes(STEP))
        number = 0
        while path.stat().st_size < megabytes * 1_000_000:
            size = LARGE if number % EVERY == 0 else SMALL
            archive.writestr(f"{('cat', 'dog')[number % 2]}/{number:05}.png", a_picture(noise, size))
            number += 1


def a_picture(noise: np.random.Generator, size: tuple[int, int]) -> bytes:
    """A PNG, width by height pixels."""
    pixels = noise.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    target = BytesIO()
    Image.fromarray(pixels).save(target, "PNG", compress_level=0)
    return target.getvalue()


def upload(client: Client, archive: Path, way: str) -> int:
    """Upload into a new data set and follow it to its end; how many samples it has."""
    dataset = client.create_dataset(f"memory {way}", auto_train="off")
    if way == "whole":
        imported = client.uploads.send_whole(dataset.id, archive, lambda _: None)
    else:
        imported = client.uploads.send_parts(client.uploads.begin(dataset.id, archive), archive, lambda _: None)
    return client.wait_for_version(dataset.id, imported.id).sample_count


def measure(megabytes: int, folder: Path) -> dict[str, object]:
    """The line to print."""
    archive = folder / "upload-memory.zip"
    try:
        write_archive(archive, megabytes)
        processes = Supervisor(Layout.of()).processes()
        pids = {service: processes[service].pid for service in SERVICES}
        peaks, samples = {}, 0
        with connect() as client:
            for way in ("whole", "parts"):
                with watched(pids) as found:
                    samples = upload(client, archive, way)
                peaks[way] = found.megabytes
        size = archive.stat().st_size / 1_000_000
    finally:
        archive.unlink(missing_ok=True)
    most = max(peak for found in peaks.values() for peak in found.values())
    return {
        "benchmark": "upload_memory",
        "archive_mb": round(size),
        "samples": samples,
        "peak_mb": peaks,
        "peak_by_archive": round(most / size, 3),
        "limit_mb": LIMIT_MB,
        "is_within": most < LIMIT_MB,
    }


def main() -> int:
    """Exit status 1 when a peak is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=2000, help="size of the archive in MB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where the archive is written")
    arguments = parser.parse_args()
    try:
        result = measure(arguments.mb, arguments.folder)
    except EasyLoopError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0 if result["is_within"] else 1


if __name__ == "__main__":
    sys.exit(main())
