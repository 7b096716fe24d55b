"""The study, inside its job process: samples -> features -> trials -> winner."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobStore
from chassis.clock import Clock
from chassis.errors import PermanentError
from chassis.job_process import JobContext
from chassis.job_scratch import job_scratch
from learning.task import FeatureSet, StudyPlan, TaskPlugin
from schemas.base import BlobRef
from schemas.run import RunStarted
from schemas.winner import Winner, WinnerCalibration, WinnerClass
from services.hpo.feature_cache import FeatureCache, FeatureKey
from services.hpo.search import TrialOutcome, TrialSearch, choose_winner, search_limit
from services.version_data import VersionData, fetch_labelled, lasting_faults_are_permanent, read_version, shas_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """Features of train + validation and where they are kept."""

    ref: BlobRef
    features: FeatureSet


@dataclass
class Timing:
    """Seconds by stage, for the metrics of the study."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def ends(self, stage: str) -> None:
        """The stage that ran until now has this name."""
        now = time.monotonic()
        self.seconds[f"{stage}_s"] = round(now - self._since, 2)
        self._since = now


@dataclass(frozen=True)
class StudyJob:
    """Everything a study needs; pretrained networks lie, or are built, below the folder `backbones`."""

    blobs: BlobStore
    cache: LocalBlobCache
    scratch_dir: Path
    search: TrialSearch
    clock: Clock
    plugin_of: Callable[[str], TaskPlugin]
    backbones: Path

    def run(self, context: JobContext) -> dict[str, Any]:
        """Raises PermanentError: nothing to train on, a sample gone, or no candidate that could be trained."""
        order = RunStarted.model_validate(context.args["order"])
        try:
            with lasting_faults_are_permanent(), job_scratch(self.scratch_dir, context.job_id) as folder:
                return self._study(context, order, folder)
        finally:
            self.search.close()

    def _study(self, context: JobContext, order: RunStarted, folder: Path) -> dict[str, Any]:
        timing, plugin = Timing(), self.plugin_of(order.task)
        data = read_version(self.blobs, order.manifest)
        count = len(data.on_sides("train", "validation"))
        # Of the budget, not of what is left of it: a second attempt must plan the same, or it would find no features.
        plan = plugin.plan(order.budget.seconds, order.budget.preset, count, len(data.classes), order.seed)
        context.say({"started": {"trial_count": plan.trials}})
        self.search.warm_up(count)
        found = self._features(context, order, data, plugin, plan, folder, timing)
        outcomes = self._try_candidates(context, order, data, plan, found.features, self.clock.now())
        timing.ends("search")
        winner = choose_winner(outcomes)
        if winner is None:
            raise _nothing_trained(plan)
        log.info("study of %s: %s", order.run_id, timing.seconds)
        return self._result(order, data, plan, winner, found.ref, outcomes, timing)

    def _features(
        self,
        context: JobContext,
        order: RunStarted,
        data: VersionData,
        plugin: TaskPlugin,
        plan: StudyPlan,
        folder: Path,
        timing: Timing,
    ) -> Found:
        files = plugin.prepare(plan.recipe, self.backbones)
        key = FeatureKey(plan.recipe, files, order.dataset_id, order.manifest.sha256)
        cache = FeatureCache(self.blobs, order.project_id, order.dataset_id, plugin, folder)
        if (exact := cache.find(key.exact)) is not None:
            timing.ends("features")
            context.progress("features", 1.0, "features_found")
            return Found(*exact)
        latest = cache.find(key.latest)
        samples = fetch_labelled(
            self.cache, data.on_sides("train", "validation"), _progress(context, "samples", "fetching_samples")
        )
        timing.ends("samples")
        features = plugin.features(
            samples,
            data.class_ids,
            plan.recipe,
            self.backbones,
            _progress(context, "features", "computing_features"),
            latest[1] if latest else None,
        )
        ref = cache.store(key, features)
        timing.ends("features")
        return Found(ref, features)

    def _try_candidates(
        self,
        context: JobContext,
        order: RunStarted,
        data: VersionData,
        plan: StudyPlan,
        features: FeatureSet,
        now: datetime,
    ) -> list[TrialOutcome]:
        context.progress("search", 0.0, "trying_candidates")
        best = 0.0

        def on_trial(outcome: TrialOutcome, ended: int) -> None:
            nonlocal best
            best = max(best, outcome.accuracy)
            context.say({"trial": _trial(outcome, plan)})
            context.progress("search", ended / plan.trials, "trying_candidates", metrics={"best_accuracy": best})

        return self.search.run(
            plan,
            features.subset(shas_of(data.on_sides("train"))),
            features.subset(shas_of(data.on_sides("validation"))),
            search_limit(order.budget, now),
            on_trial,
        )

    def _result(
        self,
        order: RunStarted,
        data: VersionData,
        plan: StudyPlan,
        best: TrialOutcome,
        features: BlobRef,
        outcomes: list[TrialOutcome],
        timing: Timing,
    ) -> dict[str, Any]:
        winner = Winner(
            task=order.task,
            candidate=best.candidate,
            recipe=plan.recipe,
            epochs=plan.epochs,
            seed=plan.seed,
            classes=[WinnerClass(id=each.id, name=each.name) for each in data.classes],
            calibration=WinnerCalibration(temperature=best.temperature, threshold=best.threshold),
            accuracy=best.accuracy,
            loss=best.loss,
        )
        ref = self.blobs.put(order.project_id, winner.model_dump_json().encode(), "application/json")
        return {
            "winner": ref.model_dump(mode="json"),
            "features": [features.model_dump(mode="json")],
            "metrics": {"accuracy": best.accuracy, "loss": best.loss, **timing.seconds},
            "trial_count": len(outcomes),
        }


def _progress(context: JobContext, stage: str, message_code: str) -> Callable[[float], None]:
    started = time.monotonic()

    def progress(fraction: float) -> None:
        elapsed = time.monotonic() - started
        eta = {"eta_s": round(elapsed * (1 - fraction) / fraction, 1)} if fraction > 0 else {}
        context.progress(stage, fraction, message_code, **eta)

    return progress


def _trial(outcome: TrialOutcome, plan: StudyPlan) -> dict[str, Any]:
    metrics = {"accuracy": outcome.accuracy, "loss": outcome.loss, "epoch": float(outcome.epoch)}
    return {
        "trial": outcome.number,
        "candidate": outcome.candidate,
        # JSON has no number for what a training that ran away reports.
        "metrics": metrics if outcome.is_finite else {"epoch": metrics["epoch"]},
        "stopped_early": outcome.epoch < plan.epochs,
    }


def _nothing_trained(plan: StudyPlan) -> PermanentError:
    return PermanentError(
        "study_failed",
        f"None of the {plan.trials} candidates could be trained; see the log of hpo for the errors of the trials, "
        "make sure that the machine has enough memory, and start a new run.",
    )
