"""The whole recipe on one data set, without the platform: archive -> model -> accuracy on the test archive.

    python benchmarks/learning_recipe.py --data FOLDER --train grocery20-train.zip --test grocery20-test.zip

Prints one JSON line. The test archive is looked at only by the finished bundle. A plain loop stands in for
the tuner: every candidate runs all its epochs.
"""

import argparse
import hashlib
import json
import os
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")  # read by Paddle's MKL when it is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from learning.errors import SampleRejected
from learning.registry import get_task
from learning.search_space import draw
from learning.split import assign_sides
from learning.task import Calibration, Candidate, ClassInfo, FeatureSet, LabelledSample, StudyPlan, Truth

TASK = get_task("image_classification")
Seconds = dict[str, float]


@contextmanager
def timed(seconds: Seconds, stage: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[stage] = round(time.monotonic() - started, 2)


def read_archive(archive: Path, folder: Path) -> list[LabelledSample]:
    """A folder per class; files that cannot be read are counted out, as the platform does."""
    samples = []
    with zipfile.ZipFile(archive) as source:
        for name in source.namelist():
            if not TASK.accepts(name):
                continue
            try:
                prepared = TASK.read(source.read(name), name)
            except SampleRejected as rejected:
                print(rejected, file=sys.stderr)
                continue
            sha = hashlib.sha256(prepared.content).hexdigest()
            path = folder / sha
            path.write_bytes(prepared.content)
            samples.append(LabelledSample(sha, path, (PurePosixPath(name).parent.name,)))
    return samples


def search(
    plan: StudyPlan, train: FeatureSet, validation: FeatureSet
) -> tuple[Candidate, Calibration, float, list[tuple[float, float, str]]]:
    random = np.random.default_rng(plan.seed)
    candidates = [*plan.starts, *(draw(plan.space, random) for _ in range(plan.trials - len(plan.starts)))]
    ranked: list[tuple[float, float, int, Candidate, Calibration]] = []
    for candidate in candidates[: plan.trials]:
        *_, last = TASK.train_trial(candidate, plan.epochs, plan.seed, train, validation)
        ranked.append((last.accuracy, -last.loss, len(ranked), candidate, last.calibration))
    best = max(ranked, key=lambda entry: entry[:3])
    return best[3], best[4], best[0], [(round(r[0], 4), round(-r[1], 4), str(r[3]["head"])) for r in ranked]


def score(bundle: Path, samples: list[LabelledSample], classes: list[ClassInfo]) -> tuple[dict[str, object], float]:
    predictor = TASK.load_predictor(bundle, threads=2)
    started = time.monotonic()
    predictions = [predictor.predict([sample.path.read_bytes()])[0] for sample in samples]
    milliseconds = (time.monotonic() - started) / len(samples) * 1000
    truths = [Truth(sample.sha, sample.labels) for sample in samples]
    report = TASK.evaluate(classes, truths, predictions, predictor.manifest.calibration.threshold)
    kept = ("accuracy", "macro_f1", "calibration_error", "threshold")
    return {name: report[name] for name in kept}, round(milliseconds, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backbones", type=Path, help="folder of built backbones; built when left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(run(options, Path(scratch))))


def run(options: argparse.Namespace, scratch: Path) -> dict[str, object]:
    seconds: Seconds = {}
    backbones = options.backbones or scratch / "backbones"
    with timed(seconds, "read"):
        samples = read_archive(options.data / options.train, scratch)
    class_ids = sorted({sample.labels[0] for sample in samples})
    classes = [ClassInfo(class_id, class_id) for class_id in class_ids]
    sides = assign_sides([(sample.sha, sample.labels[0]) for sample in samples])
    plan = TASK.plan(options.budget, options.preset, len(samples), len(class_ids), options.seed)
    with timed(seconds, "backbone"):
        TASK.prepare(plan.recipe, backbones)
    with timed(seconds, "features"):
        features = TASK.features(samples, class_ids, plan.recipe, backbones, lambda _: None)
    train = features.subset([sha for sha in features.shas if sides[sha] == "train"])
    validation = features.subset([sha for sha in features.shas if sides[sha] == "validation"])
    with timed(seconds, "search"):
        candidate, calibration, accuracy, trials = search(plan, train, validation)
    final = features.subset([sha for sha in features.shas if sides[sha] != "test"])
    with timed(seconds, "fit"):
        *_, last = TASK.fit(candidate, plan.epochs, plan.seed, final, None)
    with timed(seconds, "export"):
        TASK.export(last.model, classes, calibration, backbones, scratch / "bundle")
    own = [sample for sample in samples if sides[sample.sha] == "test"]
    own_report, _ = score(scratch / "bundle", own, classes)
    report, milliseconds = score(scratch / "bundle", read_archive(options.data / options.test, scratch), classes)
    return {
        "benchmark": "learning_recipe",
        "train": options.train,
        "preset": options.preset,
        "samples": len(samples),
        "sides": {side: list(sides.values()).count(side) for side in ("train", "validation", "test")},
        "views": plan.recipe["views"],
        "winner": candidate,
        "trials": trials,
        "validation_accuracy": round(accuracy, 4),
        "own_test_accuracy": own_report["accuracy"],
        "test": report,
        "milliseconds_a_prediction": milliseconds,
        "seconds": seconds,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
