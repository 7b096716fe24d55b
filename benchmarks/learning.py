"""Whole runs: seconds from upload to served on the local stack, then accuracy on the test file by the gateway.

    make bench-learning DATA=folder [ROWS="steel6-fast demo-fast"] [TIMES=3]

Prints one JSON line a row and time, each with its own data set, so that nothing is found ready-made; only "-again" rows
train a second time, with 50 more pictures, on what they already have. `probe_s` is the time of a fixed piece of
work right before (beside it figures of different machines can be compared). No training sees the test file.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from easyloop.answers import Run
from easyloop.client import Client, connect
from infra.demo.photographs import write_archives
from infra.demo.questions import count_right, questions_of
from infra.local.layout import Layout
from infra.local.start import start_everything

MORE = 50
"""Pictures that "-again" rows hold back at first."""


@dataclass(frozen=True)
class Row:
    """What is asked of a data set: least accuracy on the test file, most seconds from upload to served."""

    data: str
    preset: str
    accuracy: float
    seconds: float


ROWS = {
    "steel6-fast": Row("steel6", "fast", 0.995, 75),
    "demo-fast": Row("demo", "fast", 0.98, 60),
    "grocery20-fast": Row("grocery20", "fast", 0.905, 120),
    "grocery20-balanced": Row("grocery20", "balanced", 0.935, 300),
    "grocery20-accurate": Row("grocery20", "accurate", 0.955, 1800),
    "grocery20-fast-again": Row("grocery20", "fast", 0.905, 40),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of <name>-train.zip and <name>-test.zip")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--times", type=int, default=1, help="each with another seed")
    options = parser.parse_args()
    start_everything(Layout.of(), lambda line: print(line, file=sys.stderr))
    with connect() as client, tempfile.TemporaryDirectory() as scratch:
        for time_number in range(options.times):
            for name in options.rows:
                print(
                    json.dumps({"row": name, "time": time_number, **measure(client, name, options.data, Path(scratch))})
                )
                sys.stdout.flush()


def measure(client: Client, name: str, folder: Path, scratch: Path) -> dict[str, object]:
    row = ROWS[name]
    training, test = archives(row.data, folder, scratch)
    dataset = client.create_dataset(f"{name} {time.time():.0f}", auto_train=row.preset).id
    before = None
    if name.endswith("-again"):
        first, training = split(training, scratch)
        _, before = served(client, dataset, first)
    probe_s = probe()
    run, seconds = served(client, dataset, training)
    questions = list(questions_of(test))
    right = count_right(client, str(run.model_id), questions)
    report = client.report(str(run.model_id), run.model_version or 0)
    return {
        "data": row.data,
        "preset": row.preset,
        "accuracy": round(right / len(questions), 4),
        "wanted_accuracy": row.accuracy,
        "seconds": round(seconds, 1),
        "wanted_seconds": row.seconds,
        **({"first_seconds": round(before, 1)} if before else {}),
        "probe_s": round(probe_s, 2),
        "own_test_accuracy": report["accuracy"],
        "stages": run.stage_times,
        "run": run.id,
    }


def archives(data: str, folder: Path, scratch: Path) -> tuple[Path, Path]:
    if data == "demo":
        return write_archives(scratch)
    return folder / f"{data}-train.zip", folder / f"{data}-test.zip"


def served(client: Client, dataset: str, archive: Path) -> tuple[Run, float]:
    """The automatic run that follows the upload, and the seconds until the gateway answers from its model, or
    until that is registered where the policy of the model keeps an earlier version.
    """
    started = time.monotonic()
    imported = client.upload(dataset, archive)
    version = client.wait_for_version(dataset, imported.id)
    run = client.wait_for_run(client.automatic_run(dataset, version.version).id)
    if run.model_id is None or run.model_version is None:
        raise SystemExit(f"run {run.id} ended as {run.state}: {run.failure}")
    if run.publication is None or run.publication.published:
        client.wait_until_served(run.model_id, run.model_version)
    return run, time.monotonic() - started


def split(archive: Path, scratch: Path) -> tuple[Path, Path]:
    """All but MORE entries, and these: the same at every time, of any class."""
    first, more = scratch / f"first-{archive.name}", scratch / f"more-{archive.name}"
    with zipfile.ZipFile(archive) as source:
        names = [name for name in source.namelist() if not name.endswith("/")]
        ranked = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
        for target, chosen in ((first, ranked[MORE:]), (more, ranked[:MORE])):
            with zipfile.ZipFile(target, "w") as packed:
                for name in chosen:
                    packed.writestr(name, source.read(name))
    return first, more


def probe() -> float:
    """Seconds for products of matrices, compressing and plain Python on every core; the best of three."""

    def work(_: int) -> None:
        matrix = np.ones((768, 768), np.float32)
        for _ in range(40):
            matrix = (matrix @ matrix) * np.float32(1e-3)
        zlib.compress(bytes(2_000_000), 6)
        sum(number * number for number in range(300_000))

    cores, found = os.cpu_count() or 1, []
    for _ in range(3):
        started = time.perf_counter()
        with ThreadPoolExecutor(cores) as threads:
            list(threads.map(work, range(2 * cores)))
        found.append(time.perf_counter() - started)
    return min(found)


if __name__ == "__main__":
    main()
