"""The features that a stage needs: those that are kept, and those that are still to be computed."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chassis.blobs.local_cache import LocalBlobCache
from chassis.job_process import JobContext
from chassis.manifests import Sample
from learning.errors import ArtefactInvalidError
from learning.study import Json
from learning.task import FeatureSet, TaskPlugin
from schemas.base import BlobRef
from services.hpo.feature_cache import FeatureCache, FeatureKey, Shard
from services.version_data import fetch_labelled

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """Features of train + validation and where they are kept."""

    refs: list[BlobRef]
    features: FeatureSet


@dataclass
class StageFeatures:
    """Of one study: samples of train + validation, in the order of the manifest. `backbones` holds the networks."""

    context: JobContext
    plugin: TaskPlugin
    blobs_of_samples: LocalBlobCache
    cache: FeatureCache
    samples: Sequence[Sample]
    class_ids: Sequence[str]
    backbones: Path
    folder: Path
    _found: dict[str, Found] = field(default_factory=dict)

    def of(self, recipe: Json) -> Found:
        """Computed once a recipe. Raises BlobMissing, BlobDamaged, LearningError."""
        key = FeatureKey(recipe, self.plugin.prepare(recipe, self.backbones))
        if key.digest not in self._found:
            self._found[key.digest] = self._find_or_compute(key)
        return self._found[key.digest]

    def _find_or_compute(self, key: FeatureKey) -> Found:
        shards = self._usable(key)
        have = set(self._loaded(shards, key.recipe).shas) if shards else set()
        missing = [sample for sample in self.samples if sample.blob.sha256 not in have]
        if missing:
            shards = self._computed(key, shards, missing)
        self.context.progress("features", 1.0, "computing_features" if missing else "features_found")
        return Found([shard.ref for shard in shards], self._loaded(shards, key.recipe))

    def _usable(self, key: FeatureKey) -> list[Shard]:
        shards = self.cache.find(key)
        try:
            self._loaded(shards, key.recipe)
        except ArtefactInvalidError as error:
            log.warning("cached features %s are computed again: %s", key.digest, error)
            return []
        return shards

    def _computed(self, key: FeatureKey, shards: list[Shard], missing: Sequence[Sample]) -> list[Shard]:
        fetching = progress_of(self.context, "samples", "fetching_samples")
        labelled = fetch_labelled(self.blobs_of_samples, missing, fetching)
        computing = progress_of(self.context, "features", "computing_features")
        for path in self.plugin.features(labelled, key.recipe, self.backbones, computing, self.folder):
            shards = [*shards, self.cache.add(key, shards, path)]
        return shards

    def _loaded(self, shards: Sequence[Shard], recipe: Json) -> FeatureSet:
        labels = {sample.blob.sha256: sample.labels for sample in self.samples}
        return self.plugin.load_features([shard.path for shard in shards], labels, self.class_ids, recipe)


def progress_of(context: JobContext, stage: str, message_code: str) -> Callable[[float], None]:
    """Says how far a stage is and how long it will still take."""
    started = time.monotonic()

    def progress(fraction: float) -> None:
        elapsed = time.monotonic() - started
        eta = {"eta_s": round(elapsed * (1 - fraction) / fraction, 1)} if fraction > 0 else {}
        context.progress(stage, fraction, message_code, **eta)

    return progress
