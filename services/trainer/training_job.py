"""The final fit, inside its job process: winner + cached features -> model -> bundle."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from chassis.job_process import JobContext
from chassis.job_scratch import job_scratch
from learning.errors import ArtefactInvalidError
from learning.task import Calibration, ClassInfo, FeatureSet, FitStep, TaskPlugin
from schemas.base import BlobRef
from schemas.learning import StudyCompleted
from schemas.winner import Winner
from services.bundle_archive import MEDIA_TYPE as BUNDLE_TYPE
from services.bundle_archive import write_bundle
from services.trainer.checkpoints import Checkpoints
from services.version_data import fetch_labelled, lasting_faults_are_permanent, read_version

log = logging.getLogger(__name__)

AFTER_CHECKPOINT = "trainer.after_checkpoint"
EVIDENCE_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class TrainingJob:
    """Everything a training needs; `reach` is called at named places, where a test may end the process."""

    blobs: BlobStore
    cache: LocalBlobCache
    scratch_dir: Path
    backbones: Path
    plugin_of: Callable[[str], TaskPlugin]
    reach: Callable[[str], None]

    def run(self, context: JobContext) -> dict[str, Any]:
        """Raises PermanentError: the winner, a sample or the backbone is gone, or nothing can be fitted."""
        order = StudyCompleted.model_validate(context.args["order"])
        with lasting_faults_are_permanent(), job_scratch(self.scratch_dir, context.job_id) as folder:
            return self._train(context, order, folder)

    def _train(self, context: JobContext, order: StudyCompleted, folder: Path) -> dict[str, Any]:
        started = time.monotonic()
        plugin = self.plugin_of(order.task)
        winner = Winner.model_validate_json(self.blobs.get(order.winner))
        plugin.prepare(winner.recipe, self.backbones)
        features = self._features(context, order, winner, plugin, folder)
        last = self._fit(context, order, winner, plugin, features)
        context.progress("exporting", 0.0, "exporting_model")
        bundle = self._export(order, winner, plugin, last.model, folder)
        plugin.write_evidence(features, winner.candidate, folder / "evidence")
        evidence = self.blobs.put_file(order.project_id, folder / "evidence", EVIDENCE_TYPE)
        context.progress("exporting", 1.0, "exporting_model")
        seconds = round(time.monotonic() - started, 2)
        log.info("training of %s took %.1f s", order.run_id, seconds)
        metrics = {"validation_accuracy": winner.accuracy, "validation_loss": winner.loss, "training_s": seconds}
        return {
            "bundle": bundle.model_dump(mode="json"),
            "evidence": evidence.model_dump(mode="json"),
            "metrics": {**metrics, **last.metrics},
        }

    def _features(
        self, context: JobContext, order: StudyCompleted, winner: Winner, plugin: TaskPlugin, folder: Path
    ) -> FeatureSet:
        """Those that the study kept; computed where they are gone."""
        data = read_version(self.blobs, order.manifest)
        samples = data.on_sides("train", "validation")
        labels = {sample.blob.sha256: sample.labels for sample in samples}
        shards = self._kept(order, folder)
        try:
            kept = plugin.load_features(shards, labels, data.class_ids, winner.recipe)
        except ArtefactInvalidError as error:
            log.warning("features of %s are computed again: %s", order.run_id, error)
            shards = []
            kept = plugin.load_features([], labels, data.class_ids, winner.recipe)
        missing = [sample for sample in samples if sample.blob.sha256 not in set(kept.shas)]
        if not missing:
            return kept
        labelled = fetch_labelled(self.cache, missing, _silent)
        computing = partial(context.progress, "features", message_code="computing_features")
        shards += plugin.features(labelled, winner.recipe, self.backbones, computing, folder)
        return plugin.load_features(shards, labels, data.class_ids, winner.recipe)

    def _kept(self, order: StudyCompleted, folder: Path) -> list[Path]:
        found = []
        for ref in order.features:
            path = folder / ref.sha256
            try:
                self.blobs.fetch(ref, path)
            except (BlobMissing, BlobDamaged) as error:
                log.warning("features of %s are computed again: %s", order.run_id, error)
            else:
                found.append(path)
        return found

    def _fit(
        self, context: JobContext, order: StudyCompleted, winner: Winner, plugin: TaskPlugin, features: FeatureSet
    ) -> FitStep:
        """The last step, whose `model` is there. Goes on from the checkpoint of an earlier attempt."""
        checkpoints = Checkpoints(self.blobs, order.run_id, order.winner)
        resume = checkpoints.load()
        if resume is not None:
            log.info("training of %s goes on from its checkpoint", order.run_id)
        step: FitStep | None = None
        for step in plugin.fit(winner.candidate, winner.epochs, winner.seed, features, resume):
            if not step.model:
                checkpoints.store(step.checkpoint)
                self.reach(AFTER_CHECKPOINT)
            context.progress("training", step.fraction, "fitting_model", metrics=step.metrics)
        if step is None or not step.model:
            raise ValueError(f"the plug-in {order.task} ended its fit without a model")
        return step

    def _export(self, order: StudyCompleted, winner: Winner, plugin: TaskPlugin, model: bytes, folder: Path) -> BlobRef:
        calibration = Calibration(winner.calibration.temperature, winner.calibration.threshold)
        classes = [ClassInfo(each.id, each.name) for each in winner.classes]
        plugin.export(model, classes, calibration, self.backbones, folder / "bundle")
        archive = folder / "bundle.zip"
        write_bundle(folder / "bundle", archive)
        return self.blobs.put_file(order.project_id, archive, BUNDLE_TYPE)


def _silent(fraction: float) -> None:
    """Fetching the samples again is not worth an event: features follow, which have their own."""
