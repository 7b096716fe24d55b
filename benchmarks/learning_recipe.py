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
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")  # read by Paddle's MKL when it is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learning.errors import SampleRejected
from learning.registry import get_task
from learning.split import assign_sides
from learning.study import Json, Stage, StageResult, StudyState, TrialOutcome, choose
from learning.task import Calibration, ClassInfo, FeatureSet, LabelledSample, Truth

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


@dataclass(frozen=True)
class Data:
    """What is trained on."""

    samples: list[LabelledSample]
    class_ids: list[str]
    backbones: Path
    scratch: Path


def features_of(data: Data, recipe: Json, known: dict[str, FeatureSet]) -> FeatureSet:
    key = json.dumps(recipe, sort_keys=True)
    if key not in known:
        folder = Path(tempfile.mkdtemp(dir=data.scratch))
        TASK.prepare(recipe, data.backbones)
        shards = list(TASK.features(data.samples, recipe, data.backbones, lambda _: None, folder))
        labels = {sample.sha: sample.labels for sample in data.samples}
        known[key] = TASK.load_features(shards, labels, data.class_ids, recipe)
    return known[key]


def study(options: argparse.Namespace, data: Data, known: dict[str, FeatureSet]) -> tuple[StudyState, str]:
    """Every candidate of every stage runs to its end, one after the other."""
    started, count, classes = time.monotonic(), len(data.samples), len(data.class_ids)
    speeds = TASK.probe(data.backbones)
    state = StudyState(options.preset, options.budget, options.seed, count, classes, speeds)
    while isinstance(stage := TASK.next_stage(state), Stage):
        at = time.monotonic()
        features = features_of(data, stage.recipe, known)
        middle, outcomes = time.monotonic(), []
        for number, candidate in enumerate(stage.candidates):
            *_, last = TASK.train_trial(candidate, stage.epochs, state.seed, features)
            figures = (last.accuracy, last.loss, last.calibration.temperature, last.calibration.threshold, last.judged)
            outcomes.append(TrialOutcome(number, candidate, last.epoch, *figures))
        result = StageResult(stage, tuple(outcomes), middle - at, time.monotonic() - middle, is_over=True)
        state = replace(state.with_result(result), elapsed_seconds=time.monotonic() - started)
    return state, stage.why


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
    with timed(seconds, "read"):
        samples = read_archive(options.data / options.train, scratch)
    class_ids = sorted({sample.labels[0] for sample in samples})
    classes = [ClassInfo(class_id, class_id) for class_id in class_ids]
    sides = assign_sides([(sample.sha, sample.labels[0]) for sample in samples])
    own = [sample for sample in samples if sides[sample.sha] == "test"]
    rest = [sample for sample in samples if sides[sample.sha] != "test"]
    data = Data(rest, class_ids, options.backbones or scratch / "backbones", scratch)
    known: dict[str, FeatureSet] = {}
    with timed(seconds, "study"):
        state, ended = study(options, data, known)
    choice = choose(state.results)
    if choice is None:
        raise SystemExit("no candidate could be trained")
    winner, stage = choice.outcome, choice.stage
    with timed(seconds, "fit"):
        features = features_of(data, stage.recipe, known)
        *_, last = TASK.fit(winner.candidate, stage.epochs, state.seed, features, None)
    with timed(seconds, "export"):
        calibration = Calibration(winner.temperature, winner.threshold)
        TASK.export(last.model, classes, calibration, data.backbones, scratch / "bundle")
    own_report, _ = score(scratch / "bundle", own, classes)
    report, milliseconds = score(scratch / "bundle", read_archive(options.data / options.test, scratch), classes)
    return {
        "benchmark": "learning_recipe",
        "train": options.train,
        "preset": options.preset,
        "samples": len(samples),
        "speeds": state.speeds,
        "stages": [shortened(result) for result in state.results],
        "ended_because": ended,
        "won_because": choice.why,
        "winner": winner.candidate,
        "own_test_accuracy": own_report["accuracy"],
        "test": report,
        "milliseconds_a_prediction": milliseconds,
        "seconds": seconds,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def shortened(result: StageResult) -> dict[str, object]:
    stage = result.stage
    tried = [[round(each.accuracy, 4), round(each.loss, 4), each.judged] for each in result.outcomes]
    taken = [round(result.feature_seconds, 1), round(result.search_seconds, 1), stage.expected_seconds]
    return {"why": stage.why, "accuracy, loss, judged": tried, "seconds: features, search, expected": taken}


if __name__ == "__main__":
    main()
