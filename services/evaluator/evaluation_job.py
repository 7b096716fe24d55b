"""The judgement, inside its job process: bundle + test split -> report.

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

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from chassis.errors import PermanentError
from chassis.job_process import JobContext
from chassis.job_scratch import job_scratch
from learning.errors import LearningError
from learning.task import ClassInfo, LabelledSample, Prediction, Predictor, TaskPlugin, Truth
from schemas.base import BlobRef
from schemas.learning import ModelTrained
from services.evaluator.bundle_archive import unpack_bundle
from services.evaluator.report import headline, primary_metric
from services.version_data import VersionData, fetch_labelled, lasting_faults_are_permanent, read_version

log = logging.getLogger(__name__)

BATCH = 8  # samples a call of the predictor


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
            return self._evaluate(context, order, folder)

    def _evaluate(self, context: JobContext, order: ModelTrained, folder: Path) -> dict[str, Any]:
        data = read_version(self.blobs, order.manifest)
        samples = fetch_labelled(self.cache, data.on_sides("test"), _silent)
        plugin = self.plugin_of(order.task)
        report = self._report(plugin, data, samples, order.bundle, folder / "model")
        stored = self.blobs.put(order.project_id, json.dumps(report, ensure_ascii=False).encode(), "application/json")
        result = {
            "report": stored.model_dump(mode="json"),
            "metrics": headline(report),
            "primary_metric": primary_metric(report),
            "test_sample_count": len(samples),
        }
        incumbent = context.args["incumbent"]
        return result if incumbent is None else {**result, **self._rescored(plugin, data, samples, incumbent, folder)}

    def _rescored(
        self,
        plugin: TaskPlugin,
        data: VersionData,
        samples: Sequence[LabelledSample],
        incumbent: dict[str, Any],
        folder: Path,
    ) -> dict[str, Any]:
        """The version in production on the same samples. A broken one is no reason to give up the new one."""
        version, bundle = int(incumbent["version"]), BlobRef.model_validate(incumbent["bundle"])
        try:
            report = self._report(plugin, data, samples, bundle, folder / "incumbent")
        except (LearningError, PermanentError, BlobMissing, BlobDamaged) as error:
            log.warning("version %d, in production, cannot be rescored: %s", version, error)
            return {"baseline_version": version}
        return {"baseline_version": version, "baseline_metrics": headline(report)}

    def _report(
        self,
        plugin: TaskPlugin,
        data: VersionData,
        samples: Sequence[LabelledSample],
        bundle: BlobRef,
        folder: Path,
    ) -> dict[str, Any]:
        archive = folder.with_suffix(".zip")
        self.blobs.fetch(bundle, archive)
        unpack_bundle(archive, folder)
        # As the gateway serves it, one core a call; several calls at once keep all cores busy.
        predictor = plugin.load_predictor(folder, threads=1)
        truths = [Truth(sample.sha, sample.labels) for sample in samples]
        classes = union(data.classes, predictor.manifest.classes)
        threshold = predictor.manifest.calibration.threshold
        return plugin.evaluate(classes, truths, predict_all(predictor, samples), threshold)


def union(classes: Sequence[ClassInfo], others: Sequence[ClassInfo]) -> list[ClassInfo]:
    """All of both, each id once: an older version may know classes that this data set has lost."""
    known: dict[str, ClassInfo] = {}
    for each in (*classes, *others):
        known.setdefault(each.id, each)
    return list(known.values())


def predict_all(predictor: Predictor, samples: Sequence[LabelledSample]) -> list[Prediction]:
    """In order; files are read batch by batch, so memory is bounded."""

    def predict(batch: Sequence[LabelledSample]) -> list[Prediction]:
        return predictor.predict([sample.path.read_bytes() for sample in batch])

    batches = [samples[start : start + BATCH] for start in range(0, len(samples), BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="predict") as threads:
        return [prediction for predictions in threads.map(predict, batches) for prediction in predictions]


def _silent(fraction: float) -> None:
    """The test split is small and mostly here already: no event tells of its fetching."""
