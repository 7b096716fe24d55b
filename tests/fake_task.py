"""A task type without any learning, for tests of the stages around it.

A sample's content is "<class id> <anything>". A candidate is {"accuracy": a}: what its trial reports at every epoch, or
{"fails": True}. A model is the list of epochs it was trained in; it predicts the class its sample names, but for the
contents that begin with "hard ", and in int8 for those that begin with "fine ".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from learning.errors import ArtefactInvalidError, LearningError
from learning.study import Candidate, End, Json, Stage, StudyState
from learning.task import (
    BundleManifest,
    Calibration,
    ClassInfo,
    Comparison,
    FeatureSet,
    Finding,
    FitStep,
    LabelledSample,
    Prediction,
    Prepared,
    Progress,
    Score,
    TrialReport,
    Truth,
    Vector,
    Work,
)


@dataclass(frozen=True)
class FakeFeatures:
    """The hashes alone."""

    shas: tuple[str, ...]

    def subset(self, shas: Sequence[str]) -> "FakeFeatures":
        """See FeatureSet."""
        return FakeFeatures(tuple(sha for sha in shas if sha in self.shas))


class FakePredictor:
    """Reads the class off the content."""

    def __init__(self, manifest: BundleManifest, precision: str | None = None) -> None:
        self.manifest, self._precision = manifest, precision

    def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
        """See Predictor."""
        return [self._one(content.decode()) for content in contents]

    def predict_with_vectors(self, contents: Sequence[bytes]) -> list[tuple[Prediction, Vector]]:
        """See Predictor. The vector is the length of the content."""
        lengths = [np.array([len(content)], np.float32) for content in contents]
        return list(zip(self.predict(contents), lengths, strict=True))

    def warm_up(self) -> None:
        """See Predictor. There is nothing to warm."""

    def _one(self, content: str) -> Prediction:
        """Wrong for "hard ..."; for "fine ..." in int8, too."""
        wrong = content.startswith("hard ") or (content.startswith("fine ") and self._precision == "int8")
        true = content.removeprefix("hard ").removeprefix("fine ").split()[0]
        ordered = sorted(self.manifest.classes, key=lambda each: (each.id == true) == wrong)
        return Prediction(tuple(Score(each.id, each.name, 1.0 / (at + 1)) for at, each in enumerate(ordered)))


@dataclass
class FakeTask:
    """Implements TaskPlugin; the lists tell a test what was really done."""

    stages: tuple[tuple[Candidate, ...], ...] = (({"accuracy": 0.5}, {"accuracy": 0.9}),)
    epochs: int = 4
    computed: list[str] = field(default_factory=list)
    trained_epochs: list[int] = field(default_factory=list)
    states: list[StudyState] = field(default_factory=list)
    name: str = "fake"
    in_precisions: tuple[str, ...] = ("int8", "fp32")

    def preload(self, work: Work) -> None:
        """See TaskPlugin."""

    def accepts(self, filename: str) -> bool:
        """See TaskPlugin."""
        return True

    def read(self, raw: bytes, filename: str) -> Prepared:
        """See TaskPlugin."""
        return Prepared(raw, "text/plain", 0, 0, (), b"")

    def check(self, class_counts: Mapping[str, int]) -> list[Finding]:
        """See TaskPlugin."""
        return []

    def probe(self, backbones: Path) -> Json:
        """See TaskPlugin."""
        return {"view_s": 0.01}

    def next_stage(self, state: StudyState) -> Stage | End:
        """See TaskPlugin. As many stages as `stages` says, each with the next of its candidates."""
        self.states.append(state)
        if len(state.results) >= len(self.stages):
            return End("There are no more stages.")
        number = len(state.results)
        return Stage(f"stage {number}", "A test.", {"views": 1}, self.stages[number], self.epochs, 1, 3, 1, 1.0)

    def prepare(self, recipe: Json, backbones: Path) -> dict[str, str]:
        """See TaskPlugin."""
        return {"net.onnx": "0" * 64}

    def features(
        self, samples: Sequence[LabelledSample], recipe: Json, backbones: Path, progress: Progress, out: Path
    ) -> Iterator[Path]:
        """See TaskPlugin. Shards of two samples."""
        for start in range(0, len(samples), 2):
            part = samples[start : start + 2]
            for sample in part:
                sample.path.read_bytes()
                self.computed.append(sample.sha)
            path = out / f"shard-{part[0].sha}"
            path.write_text(json.dumps([sample.sha for sample in part]))
            progress((start + len(part)) / len(samples))
            yield path

    def load_features(
        self, shards: Sequence[Path], labels: Mapping[str, tuple[str, ...]], class_ids: Sequence[str], recipe: Json
    ) -> FeatureSet:
        """See TaskPlugin."""
        try:
            there = {sha for path in shards for sha in json.loads(path.read_text())}
        except ValueError as error:
            raise ArtefactInvalidError("features_damaged", "The features cannot be read.") from error
        return FakeFeatures(tuple(sha for sha in labels if sha in there))

    def train_trial(self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet) -> Iterator[TrialReport]:
        """See TaskPlugin."""
        if "fails" in candidate:
            raise LearningError("trial_failed", "The candidate was made to fail.")
        for epoch in range(1, epochs + 1):
            yield TrialReport(epoch, candidate["accuracy"], 1 - candidate["accuracy"], Calibration(2.0, 0.3), 1000)

    def fit(
        self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet, resume: bytes | None
    ) -> Iterator[FitStep]:
        """See TaskPlugin."""
        done: list[int] = json.loads(resume) if resume else []
        for epoch in range(len(done) + 1, epochs + 1):
            done.append(epoch)
            self.trained_epochs.append(epoch)
            state = json.dumps(done).encode()
            model = state if epoch == epochs else b""
            yield FitStep(epoch, epoch / epochs, {"loss": 1.0 / epoch}, state, model)

    def export(
        self, model: bytes, classes: Sequence[ClassInfo], calibration: Calibration, backbones: Path, out: Path
    ) -> BundleManifest:
        """See TaskPlugin."""
        document = {
            "classes": [[each.id, each.name] for each in classes],
            "calibration": calibration.to_json(),
        }
        (out / "paddle").mkdir(parents=True)
        (out / "manifest.json").write_text(json.dumps(document))
        (out / "paddle" / "model").write_bytes(model)
        return _manifest(document)

    def load_predictor(self, bundle: Path, threads: int = 1, precision: str | None = None) -> FakePredictor:
        """See TaskPlugin."""
        path = bundle / "manifest.json"
        if not path.is_file():
            raise ArtefactInvalidError("bundle_invalid", "The bundle has no manifest.")
        return FakePredictor(_manifest(json.loads(path.read_text())), precision)

    def write_evidence(self, features: FeatureSet, candidate: Candidate, path: Path) -> None:
        """See TaskPlugin."""
        path.write_text(json.dumps({"shas": features.shas, "candidate": candidate}))

    def precisions(self, bundle: Path) -> tuple[str, ...]:
        """See TaskPlugin."""
        return self.in_precisions

    def settle(self, bundle: Path, served: str, report: Json) -> None:
        """See TaskPlugin."""
        (bundle / "settled.json").write_text(json.dumps({"served": served, "accuracy": report["accuracy"]}))

    def evaluate(
        self,
        classes: Sequence[ClassInfo],
        truths: Sequence[Truth],
        predictions: Sequence[Prediction],
        threshold: float,
        comparison: Comparison | None = None,
    ) -> Json:
        """See TaskPlugin. Raises ValueError for a class that is not among `classes`, as the real one does."""
        known = {each.id for each in classes}
        for truth, prediction in zip(truths, predictions, strict=True):
            if unknown := ({*truth.labels} | {score.class_id for score in prediction.scores}) - known:
                raise ValueError(f"classes {unknown} are not the model's")
        hits = [p.best.class_id == t.labels[0] for t, p in zip(truths, predictions, strict=True)]
        accuracy = sum(hits) / len(hits) if hits else None
        compared = (
            {} if comparison is None else {"leaks": list(comparison.leaks), "vectors": comparison.vectors.tolist()}
        )
        return {"sample_count": len(hits), "accuracy": accuracy, "threshold": {"used": threshold}, **compared}


def _manifest(document: dict[str, Any]) -> BundleManifest:
    classes = tuple(ClassInfo(*each) for each in document["classes"])
    return BundleManifest("fake", classes, Calibration(**document["calibration"]))
