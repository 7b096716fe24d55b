"""The judgement, inside its job process: bundle + test split -> report, and the bundle as it will be served.

The version in production is judged on the same samples.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from chassis.errors import PermanentError
from chassis.job_process import JobContext
from chassis.job_scratch import job_scratch
from learning.errors import LearningError
from learning.fingerprints import has_near_copy
from learning.task import (
    ClassInfo,
    ComparingPredictor,
    Comparison,
    LabelledSample,
    Prediction,
    TaskPlugin,
    Truth,
    Vector,
)
from schemas.base import BlobRef
from schemas.learning import ModelTrained
from services.bundle_archive import MEDIA_TYPE, unpack_bundle, write_bundle
from services.evaluator.precision import accuracy_of, choose_precision
from services.evaluator.report import headline, primary_metric
from services.version_data import VersionData, fetch_labelled, lasting_faults_are_permanent, read_version

log = logging.getLogger(__name__)

BATCH = 8  # samples a call of the predictor
MOST_COMPARED = 150  # samples on which precisions are compared: the slower one takes its time

Predicted = tuple[Prediction, Vector]


@dataclass(frozen=True)
class EvaluationJob:
    """Everything an evaluation needs."""

    blobs: BlobStore
    cache: LocalBlobCache
    scratch_dir: Path
    plugin_of: Callable[[str], TaskPlugin]

    def run(self, context: JobContext) -> dict[str, Any]:
        """Raises PermanentError: the bundle or a sample is gone or damaged."""
        order = ModelTrained.model_validate(context.args["order"])
        with lasting_faults_are_permanent(), job_scratch(self.scratch_dir, context.job_id) as folder:
            data = read_version(self.blobs, order.manifest)
            samples = fetch_labelled(self.cache, data.on_sides("test"), _silent)
            judgement = Judgement(self.blobs, self.plugin_of(order.task), data, samples, folder)
            result = judgement.of_new(order)
            incumbent = context.args["incumbent"]
            return result if incumbent is None else {**result, **judgement.of_incumbent(incumbent)}


@dataclass(frozen=True)
class Judgement:
    """On `samples`, the test split of `data`. `folder` is for what is unpacked."""

    blobs: BlobStore
    plugin: TaskPlugin
    data: VersionData
    samples: Sequence[LabelledSample]
    folder: Path

    @property
    def truths(self) -> list[Truth]:
        """What the samples really are."""
        return [Truth(sample.sha, sample.labels) for sample in self.samples]

    def of_new(self, order: ModelTrained) -> dict[str, Any]:
        """Report and settled bundle are stored."""
        folder = self.folder / "model"
        self._fetch(order.bundle, folder)
        compared = self._compared(folder)
        accuracies = {name: accuracy_of(self.truths[:MOST_COMPARED], found) for name, found in compared.items()}
        served = choose_precision(accuracies, min(len(self.samples), MOST_COMPARED))
        report = self._report(folder, served, compared[served], self._evidence(order))
        report["precision"] = {
            "served": served,
            "accuracies": accuracies,
            "sample_count": min(len(self.samples), MOST_COMPARED),
        }
        self.plugin.settle(folder, served, report)
        write_bundle(folder, folder.with_suffix(".settled"))
        bundle = self.blobs.put_file(order.project_id, folder.with_suffix(".settled"), MEDIA_TYPE)
        stored = self.blobs.put(order.project_id, json.dumps(report, ensure_ascii=False).encode(), "application/json")
        return {
            "bundle": bundle.model_dump(mode="json"),
            "report": stored.model_dump(mode="json"),
            "metrics": headline(report),
            "primary_metric": primary_metric(report),
            "test_sample_count": len(self.samples),
        }

    def of_incumbent(self, incumbent: dict[str, Any]) -> dict[str, Any]:
        """The version in production on the same samples. A broken one is no reason to give up the new one."""
        version, folder = int(incumbent["version"]), self.folder / "incumbent"
        try:
            self._fetch(BlobRef.model_validate(incumbent["bundle"]), folder)
            report = self._report(folder, None, (), None)
        except (LearningError, PermanentError, BlobMissing, BlobDamaged) as error:
            log.warning("version %d, in production, cannot be rescored: %s", version, error)
            return {"baseline_version": version}
        return {"baseline_version": version, "baseline_metrics": headline(report)}

    def _fetch(self, bundle: BlobRef, folder: Path) -> None:
        archive = folder.with_suffix(".zip")
        self.blobs.fetch(bundle, archive)
        unpack_bundle(archive, folder)

    def _compared(self, folder: Path) -> dict[str, list[Predicted]]:
        """What each precision predicts of the first samples."""
        return {
            name: predict_all(self._predictor(folder, name), self.samples[:MOST_COMPARED])
            for name in self.plugin.precisions(folder)
        }

    def _report(
        self, folder: Path, precision: str | None, known: Sequence[Predicted], evidence: Path | None
    ) -> dict[str, Any]:
        """On all samples; what is predicted of the first is `known`."""
        predictor = self._predictor(folder, precision)
        predicted = [*known, *predict_all(predictor, self.samples[len(known) :])]
        return self.plugin.evaluate(
            union(self.data.classes, predictor.manifest.classes),
            self.truths,
            [prediction for prediction, _ in predicted],
            predictor.manifest.calibration.threshold,
            self._comparison(evidence, [vector for _, vector in predicted]) if evidence else None,
        )

    def _comparison(self, evidence: Path, vectors: Sequence[Vector]) -> Comparison:
        """With the samples that the model was trained on."""
        trained, tested = self.data.on_sides("train", "validation"), self.data.on_sides("test")
        copies = has_near_copy([each.fingerprint for each in tested], [each.fingerprint for each in trained])
        leaks = tuple(sample.blob.sha256 for sample, is_copy in zip(tested, copies, strict=True) if is_copy)
        return Comparison(np.stack(vectors) if vectors else np.zeros((0, 0), np.float32), evidence, leaks)

    def _evidence(self, order: ModelTrained) -> Path | None:
        if order.evidence is None:
            return None
        path = self.folder / "evidence"
        self.blobs.fetch(order.evidence, path)
        return path

    def _predictor(self, folder: Path, precision: str | None) -> ComparingPredictor:
        # As the gateway serves it, one core a call; several calls at once keep all cores busy.
        return self.plugin.load_predictor(folder, threads=1, precision=precision)


def union(classes: Sequence[ClassInfo], others: Sequence[ClassInfo]) -> list[ClassInfo]:
    """All of both, each id once: an older version may know classes that this data set has lost."""
    known: dict[str, ClassInfo] = {}
    for each in (*classes, *others):
        known.setdefault(each.id, each)
    return list(known.values())


def predict_all(predictor: ComparingPredictor, samples: Sequence[LabelledSample]) -> list[Predicted]:
    """In order; files are read batch by batch, so memory is bounded."""

    def predict(batch: Sequence[LabelledSample]) -> list[Predicted]:
        return predictor.predict_with_vectors([sample.path.read_bytes() for sample in batch])

    batches = [samples[start : start + BATCH] for start in range(0, len(samples), BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="predict") as threads:
        return [predicted for found in threads.map(predict, batches) for predicted in found]


def _silent(fraction: float) -> None:
    """The test split is small and mostly here already: no event tells of its fetching."""
