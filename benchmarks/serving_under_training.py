"""What people who ask a model notice of two trainings that run at once on the same cores.

    python benchmarks/serving_under_training.py --data folder

Starts the local stack, makes a model of the demo's photographs, asks it ten times a second: first on the idle machine,
then while two data sets (grocery20 and steel6 of the folder) are uploaded and trained at once. Prints one JSON line;
milliseconds of one question with one photograph, from the client's side.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.learning import served
from easyloop.client import Client, connect
from infra.demo.photographs import write_archives
from infra.demo.questions import Question, questions_of
from infra.local.layout import Layout
from infra.local.start import start_everything

EVERY_S = 0.1
QUIET_S = 20.0
TRAININGS = ("grocery20", "steel6")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    start_everything(Layout.of(), lambda line: print(line, file=sys.stderr))
    with connect() as client, tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(client, options.data, Path(scratch))))


def measure(client: Client, folder: Path, scratch: Path) -> dict[str, object]:
    training, test = write_archives(scratch)
    run, _ = served(client, a_dataset(client, "demo"), training)
    questions = list(questions_of(test))
    stop = threading.Event()
    with ThreadPoolExecutor(1 + len(TRAININGS)) as threads:
        threading.Timer(QUIET_S, stop.set).start()
        quiet = ask_until(client, str(run.model_id), questions, stop)
        stop.clear()
        asking = threads.submit(ask_until, client, str(run.model_id), questions, stop)
        trainings = [threads.submit(train, folder / f"{name}-train.zip") for name in TRAININGS]
        try:
            seconds = {name: round(each.result(), 1) for name, each in zip(TRAININGS, trainings, strict=True)}
        finally:
            stop.set()
        busy = asking.result()
    return {"quiet": percentiles(quiet), "during_two_trainings": percentiles(busy), "seconds": seconds}


def train(archive: Path) -> float:
    with connect() as client:
        return served(client, a_dataset(client, archive.stem), archive)[1]


def a_dataset(client: Client, name: str) -> str:
    return client.create_dataset(f"{name} {time.time():.0f}", auto_train="fast").id


def ask_until(client: Client, model_id: str, questions: list[Question], stop: threading.Event) -> list[float]:
    """Milliseconds of each answer."""
    found: list[float] = []
    while not stop.is_set():
        question = questions[len(found) % len(questions)]
        started = time.perf_counter()
        client.predict(model_id, [(question.name, question.content)], top=1)
        found.append((time.perf_counter() - started) * 1000)
        stop.wait(EVERY_S)
    return found


def percentiles(found: list[float]) -> dict[str, float]:
    middle, high = np.percentile(found, [50, 99])
    return {"answers": len(found), "p50_ms": round(float(middle), 1), "p99_ms": round(float(high), 1)}


if __name__ == "__main__":
    main()
