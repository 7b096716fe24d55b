"""The image classification plug-in: the one door through which services use this package."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from learning.backbones.description import read_backbone
from learning.backbones.library import backbone_folder, backbone_of, ensure_backbone
from learning.device import Device
from learning.errors import ArtefactInvalidError
from learning.image_classification import features as feature_files
from learning.image_classification.bundle import MODEL_FILE, write_manifest
from learning.image_classification.checks import check_classes
from learning.image_classification.features import ImageFeatures
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.planning import plan_study
from learning.image_classification.predictor import ImagePredictor
from learning.image_classification.reading import EXTENSIONS, read_picture
from learning.image_classification.training import run_fit, run_trial
from learning.task import (
    BundleManifest,
    Calibration,
    Candidate,
    ClassInfo,
    FeatureSet,
    Finding,
    FitStep,
    Json,
    LabelledSample,
    Prediction,
    Predictor,
    Prepared,
    Progress,
    StudyPlan,
    TrialReport,
    Truth,
)


class ImageClassification:
    """Implements `learning.task.TaskPlugin`, where each method is described."""

    name = "image_classification"

    def __init__(self, device: Device = "cpu") -> None:
        self._device = device

    def accepts(self, filename: str) -> bool:
        return filename.lower().endswith(EXTENSIONS)

    def read(self, raw: bytes, filename: str) -> Prepared:
        return read_picture(raw, filename)

    def check(self, class_counts: Mapping[str, int]) -> list[Finding]:
        return check_classes(class_counts)

    def plan(self, budget_seconds: float, preset: str, sample_count: int, class_count: int, seed: int) -> StudyPlan:
        return plan_study(budget_seconds, preset, sample_count, class_count, seed)

    def prepare(self, recipe: Json, backbones: Path) -> dict[str, str]:
        return ensure_backbone(backbones, backbone_of(recipe)).files

    def features(
        self,
        samples: Sequence[LabelledSample],
        class_ids: Sequence[str],
        recipe: Json,
        backbones: Path,
        progress: Progress,
        known: FeatureSet | None = None,
    ) -> FeatureSet:
        folder = backbone_folder(backbones, backbone_of(recipe))
        return feature_files.extract_features(samples, class_ids, recipe, folder, progress, known)

    def load_features(self, path: Path) -> FeatureSet:
        return feature_files.load_features(path)

    def train_trial(
        self, candidate: Candidate, epochs: int, seed: int, train: FeatureSet, validation: FeatureSet
    ) -> Iterator[TrialReport]:
        return run_trial(candidate, epochs, seed, _own(train), _own(validation), self._device)

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
        from learning.image_classification.export_runner import export_paddle  # imports Paddle
        from learning.image_classification.onnx_graph import write_onnx  # a process that only predicts needs no onnx

        trained = model_from_bytes(model)
        head = trained.head
        if head.class_count != len(classes):
            sentence = f"The model tells {head.class_count} classes apart, but {len(classes)} are named; train again."
            raise ArtefactInvalidError("classes_differ", sentence)
        folder_of_backbone = backbone_folder(backbones, trained.backbone)
        described = read_backbone(folder_of_backbone)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".bundle-") as scratch:
            folder = Path(scratch) / "bundle"
            (folder / "paddle").mkdir(parents=True)
            write_onnx(
                described.path_of(folder_of_backbone, "int8"), head, calibration.temperature, folder / MODEL_FILE
            )
            export_paddle(trained, calibration.temperature, folder / "paddle")
            manifest = write_manifest(folder, classes, calibration, head, described)
            folder.rename(out)
        return manifest

    def load_predictor(self, bundle: Path, threads: int = 1) -> Predictor:
        return ImagePredictor(bundle, threads)

    def evaluate(
        self,
        classes: Sequence[ClassInfo],
        truths: Sequence[Truth],
        predictions: Sequence[Prediction],
        threshold: float,
    ) -> Json:
        # Imported here: scikit-learn takes seconds to import, and every other process does without it.
        from learning.image_classification.evaluation import evaluate_classification

        return evaluate_classification(classes, truths, predictions, threshold)


def _own(features: FeatureSet) -> ImageFeatures:
    if not isinstance(features, ImageFeatures):
        raise ArtefactInvalidError("features_foreign", f"{type(features).__name__} is not a set of image features.")
    return features
