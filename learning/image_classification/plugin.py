"""The image classification plug-in: the one door through which services use this package."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from learning.backbones.description import DEFAULT_BACKBONE
from learning.backbones.library import backbone_folder, backbone_of, ensure_backbone
from learning.device import Device
from learning.errors import ArtefactInvalidError
from learning.image_classification import planning
from learning.image_classification.bundle import precisions_of, settle_bundle
from learning.image_classification.checks import check_classes
from learning.image_classification.costs import probe
from learning.image_classification.evidence import write_evidence
from learning.image_classification.extraction import extract_features
from learning.image_classification.features import ImageFeatures, load_features
from learning.image_classification.predictor import ImagePredictor
from learning.image_classification.reading import EXTENSIONS, read_picture
from learning.image_classification.training import run_fit, run_trial
from learning.study import Candidate, End, Json, Stage, StudyState
from learning.task import (
    BundleManifest,
    Calibration,
    ClassInfo,
    ComparingPredictor,
    Comparison,
    FeatureSet,
    Finding,
    FitStep,
    LabelledSample,
    Prediction,
    Prepared,
    Progress,
    TrialReport,
    Truth,
    Work,
)

# What the others import when they need it, because it takes seconds.
_MODULES: dict[Work, tuple[str, ...]] = {
    "study": ("heads_runner",),
    "training": ("heads_runner", "tail_training_runner", "export", "export_runner"),
    "evaluation": ("evaluation",),
}


class ImageClassification:
    """Implements `learning.task.TaskPlugin`, where each method is described."""

    name = "image_classification"

    def __init__(self, device: Device = "cpu") -> None:
        self._device = device

    def preload(self, work: Work) -> None:
        for module in _MODULES[work]:
            import_module(f"learning.image_classification.{module}")

    def accepts(self, filename: str) -> bool:
        return filename.lower().endswith(EXTENSIONS)

    def read(self, raw: bytes, filename: str) -> Prepared:
        return read_picture(raw, filename)

    def check(self, class_counts: Mapping[str, int]) -> list[Finding]:
        return check_classes(class_counts)

    def probe(self, backbones: Path) -> Json:
        ensure_backbone(backbones, DEFAULT_BACKBONE)
        return probe(backbones, DEFAULT_BACKBONE)

    def next_stage(self, state: StudyState) -> Stage | End:
        return planning.next_stage(state)

    def prepare(self, recipe: Json, backbones: Path) -> dict[str, str]:
        return ensure_backbone(backbones, backbone_of(recipe)).files

    def features(
        self, samples: Sequence[LabelledSample], recipe: Json, backbones: Path, progress: Progress, out: Path
    ) -> Iterator[Path]:
        return extract_features(samples, recipe, backbone_folder(backbones, backbone_of(recipe)), progress, out)

    def load_features(
        self, shards: Sequence[Path], labels: Mapping[str, tuple[str, ...]], class_ids: Sequence[str], recipe: Json
    ) -> FeatureSet:
        return load_features(shards, labels, class_ids, recipe)

    def train_trial(self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet) -> Iterator[TrialReport]:
        return run_trial(candidate, epochs, seed, _own(features), self._device)

    def fit(
        self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet, resume: bytes | None
    ) -> Iterator[FitStep]:
        return run_fit(candidate, epochs, seed, _own(features), resume, self._device)

    def export(
        self,
        model: bytes,
        classes: Sequence[ClassInfo],
        calibration: Calibration,
        backbones: Path,
        out: Path,
    ) -> BundleManifest:
        from learning.image_classification.export import export_bundle  # a process that only predicts needs no onnx

        return export_bundle(model, classes, calibration, backbones, out)

    def load_predictor(self, bundle: Path, threads: int = 1, precision: str | None = None) -> ComparingPredictor:
        return ImagePredictor(bundle, threads, precision)

    def write_evidence(self, features: FeatureSet, candidate: Candidate, path: Path) -> None:
        write_evidence(_own(features), candidate, path)

    def precisions(self, bundle: Path) -> tuple[str, ...]:
        return precisions_of(bundle)

    def settle(self, bundle: Path, served: str, report: Json) -> None:
        settle_bundle(bundle, served, report)

    def evaluate(
        self,
        classes: Sequence[ClassInfo],
        truths: Sequence[Truth],
        predictions: Sequence[Prediction],
        threshold: float,
        comparison: Comparison | None = None,
    ) -> Json:
        # Imported here: scikit-learn takes seconds to import, and every other process does without it.
        from learning.image_classification.evaluation import evaluate_classification

        return evaluate_classification(classes, truths, predictions, threshold, comparison)


def _own(features: FeatureSet) -> ImageFeatures:
    if not isinstance(features, ImageFeatures):
        raise ArtefactInvalidError("features_foreign", f"{type(features).__name__} is not a set of image features.")
    return features
