"""How much memory a large data set needs, from its upload to the model, on the running local stack.

    make up && python benchmarks/training_memory.py --data folder --train steel6-train.zip --pictures 20000

The archive's pictures are repeated, each time turned a little lighter or darker and shifted, until there are enough.
Prints one JSON line: the most memory of each service and of the processes it started, in MB (with the pages of
mapped files, which the kernel may take back at any time), and the seconds from upload to served.
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

from benchmarks.learning import served
from benchmarks.peaks import watched
from easyloop.client import connect
from infra.local.layout import Layout
from infra.local.supervisor_client import Supervisor

SERVICES = ("gateway", "ingest", "preprocess", "hpo", "ray", "trainer", "evaluator", "registry")
LIMIT_MB = 3000


def write_archive(source: Path, target: Path, pictures: int) -> None:
    """Small changes, so that no two files are the same."""
    random = np.random.default_rng(0)
    with zipfile.ZipFile(source) as given, zipfile.ZipFile(target, "w") as packed:
        names = [name for name in given.namelist() if not name.endswith("/")]
        for number in range(pictures):
            name = names[number % len(names)]
            content = given.read(name) if number < len(names) else changed(given.read(name), random)
            packed.writestr(f"{Path(name).parent}/{number:06}{Path(name).suffix}", content)


def changed(content: bytes, random: np.random.Generator) -> bytes:
    pixels = np.asarray(Image.open(BytesIO(content)).convert("RGB"), np.float32)
    shifted = np.roll(pixels, random.integers(-8, 9, size=2), axis=(0, 1)) * random.uniform(0.9, 1.1)
    target = BytesIO()
    Image.fromarray(np.clip(shifted, 0, 255).astype(np.uint8)).save(target, "JPEG", quality=90)
    return target.getvalue()


def main() -> int:
    """Exit status 1 when a process needed more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--train", default="steel6-train.zip")
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--preset", default="fast")
    options = parser.parse_args()
    processes = Supervisor(Layout.of()).processes()
    pids = {service: processes[service].pid for service in SERVICES if service in processes}
    with tempfile.TemporaryDirectory() as scratch, connect() as client:
        archive = Path(scratch) / "many.zip"
        write_archive(options.data / options.train, archive, options.pictures)
        dataset = client.create_dataset(f"many {options.pictures}", auto_train=options.preset).id
        with watched(pids) as peaks:
            run, seconds = served(client, dataset, archive)
    most = max(peaks.megabytes.values())
    line = {"pictures": options.pictures, "preset": options.preset, "seconds": round(seconds, 1), "run": run.id}
    print(json.dumps({**line, "peak_mb": peaks.megabytes, "limit_mb": LIMIT_MB, "is_within": most < LIMIT_MB}))
    return 0 if most < LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
