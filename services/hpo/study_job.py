"""The study, inside its job process: stage after stage, samples -> features -> trials; in the end the winner."""

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobStore
from chassis.clock import Clock
from chassis.errors import PermanentError
from chassis.job_process import JobContext
from chassis.job_scratch import job_scratch
from learning.study import Choice, End, Stage, StageResult, StudyState, TrialOutcome, choose
from learning.task import FeatureSet, TaskPlugin
from schemas.base import BlobRef
from schemas.run import RunStarted
from schemas.winner import Winner, WinnerCalibration, WinnerClass
from services.hpo.earlier_winner import EarlierWinner
from services.hpo.feature_cache import FeatureCache
from services.hpo.search import StageOrder, TrialSearch, search_limit
from services.hpo.stage_features import StageFeatures
from services.hpo.study_log import StudyLog
from services.version_data import VersionData, lasting_faults_are_permanent, read_version

log = logging.getLogger(__name__)

AFTER_TRIAL = "hpo.after_trial"


@dataclass(frozen=True)
class StudyJob:
    """Everything a study needs. `plain` is for stages with a single candidate.

    Pretrained networks lie, or are built, below the folder `backbones`; `reach` is called at named places, where a test
    may end the process.
    """

    blobs: BlobStore
    cache: LocalBlobCache
    scratch_dir: Path
    search: TrialSearch
    plain: TrialSearch
    clock: Clock
    plugin_of: Callable[[str], TaskPlugin]
    backbones: Path
    reach: Callable[[str], None]

    def run(self, context: JobContext) -> dict[str, Any]:
        """Raises PermanentError: nothing to train on, a sample gone, or no candidate that could be trained."""
        order = RunStarted.model_validate(context.args["order"])
        try:
            with lasting_faults_are_permanent(), job_scratch(self.scratch_dir, context.job_id) as folder:
                data = read_version(self.blobs, order.manifest)
                return Study(self, context, order, data, folder).run()
        finally:
            self.search.close()


class Study:
    """One study of one run."""

    def __init__(self, job: StudyJob, context: JobContext, order: RunStarted, data: VersionData, folder: Path) -> None:
        self._job, self._context, self._order, self._data = job, context, order, data
        self._plugin = job.plugin_of(order.task)
        self._log = StudyLog(job.blobs, order.run_id)
        self._earlier = EarlierWinner(job.blobs, order.project_id, order.dataset_id, order.budget.preset)
        self._samples = data.on_sides("train", "validation")
        self._features = StageFeatures(
            context=context,
            plugin=self._plugin,
            blobs_of_samples=job.cache,
            cache=FeatureCache(job.blobs, order.project_id, order.dataset_id, folder),
            samples=self._samples,
            class_ids=data.class_ids,
            backbones=job.backbones,
            folder=folder,
        )

    def run(self) -> dict[str, Any]:
        """The study's result. Raises PermanentError when no candidate could be trained."""
        state = self._log.load() or self._fresh()
        self._tell_again(state)
        ended = None
        while ended is None:
            state, ended = self._next(state)
        choice = choose(state.results)
        if choice is None:
            raise _nothing_trained(state)
        log.info("study of %s: %s %s", self._order.run_id, ended.why, choice.why)
        if len(state.results[0].stage.candidates) > 1 and state.space is None:
            self._earlier.store(choice.outcome.candidate, len(self._samples))
        return self._result(state, ended, choice)

    def _fresh(self) -> StudyState:
        budget = self._order.budget
        return StudyState(
            preset=budget.preset,
            budget_seconds=budget.seconds,
            seed=self._order.seed,
            sample_count=len(self._samples),
            class_count=len(self._data.classes),
            speeds=self._plugin.probe(self._job.backbones),
            space=self._order.space.model_dump(mode="json") if self._order.space else None,
            earlier=self._earlier.load(),
        )

    def _tell_again(self, state: StudyState) -> None:
        """What an earlier attempt found out: it may have died before anybody had noted that."""
        trials = 0
        for result in state.results:
            if not trials:
                self._context.say(_started(result.stage))
            for outcome in result.outcomes:
                self._context.say({"trial": _trial(outcome, trials + outcome.number, result.stage)})
            trials += len(result.stage.candidates)

    def _next(self, state: StudyState) -> tuple[StudyState, End | None]:
        """The stage that was broken off, or else the one that the plug-in wants next."""
        if not state.results or state.results[-1].is_over:
            state = replace(state, elapsed_seconds=self._elapsed())
            stage = self._plugin.next_stage(state)
            if isinstance(stage, End):
                return state, stage
            if not state.results:
                self._context.say(_started(stage))
            state = state.with_result(StageResult(stage))
        return self._tried(state), None

    def _tried(self, state: StudyState) -> StudyState:
        """The last stage, tried to its end."""
        result = state.results[-1]
        started = time.monotonic()
        done = {outcome.number for outcome in result.outcomes}
        left = {number: each for number, each in enumerate(result.stage.candidates) if number not in done}
        search = self._job.search if len(left) > 1 else self._job.plain
        search.warm_up(len(self._samples))
        found = self._features.of(result.stage.recipe)
        result = replace(result, feature_seconds=round(time.monotonic() - started, 2))
        self._log.store(state.with_result(result))
        order = StageOrder(
            task=self._order.task,
            stage=result.stage,
            candidates=left,
            seed=state.seed,
            limit_s=search_limit(self._order.budget, self._job.clock.now()),
            needs_finalist=not any(each.finalists for each in state.results),
        )
        started = time.monotonic()
        outcomes = self._try_all(order, search, state.with_result(result), found.features) if left else []
        seconds = round(time.monotonic() - started, 2)
        result = replace(_with(result, outcomes), search_seconds=seconds, is_over=True)
        self._log.store(state.with_result(result))
        return state.with_result(result)

    def _try_all(
        self, order: StageOrder, search: TrialSearch, state: StudyState, features: FeatureSet
    ) -> list[TrialOutcome]:
        self._context.progress("search", 0.0, "trying_candidates")
        before = sum(len(each.stage.candidates) for each in state.results[:-1])
        ended: list[TrialOutcome] = []

        def on_trial(outcome: TrialOutcome, count: int) -> None:
            ended.append(outcome)
            self._log.store(state.with_result(_with(state.results[-1], ended)))
            self._context.say({"trial": _trial(outcome, before + outcome.number, order.stage)})
            best = max(each.accuracy for each in ended)
            fraction = count / len(order.candidates)
            self._context.progress("search", fraction, "trying_candidates", metrics={"best_accuracy": best})
            self._job.reach(AFTER_TRIAL)

        return search.run(order, features, on_trial)

    def _elapsed(self) -> float:
        """Seconds since the run began."""
        budget = self._order.budget
        return budget.seconds - (budget.deadline - self._job.clock.now()).total_seconds()

    def _result(self, state: StudyState, ended: End, choice: Choice) -> dict[str, Any]:
        best, stage = choice.outcome, choice.stage
        winner = Winner(
            task=self._order.task,
            candidate=best.candidate,
            recipe=stage.recipe,
            epochs=stage.epochs,
            seed=state.seed,
            classes=[WinnerClass(id=each.id, name=each.name) for each in self._data.classes],
            calibration=WinnerCalibration(temperature=best.temperature, threshold=best.threshold),
            accuracy=best.accuracy,
            loss=best.loss,
        )
        report = {**state.to_json(), "ended_because": ended.why, "won_because": choice.why, "winner": asdict(best)}
        features = self._features.of(stage.recipe)
        return {
            "winner": self._put(winner.model_dump_json()).model_dump(mode="json"),
            "features": [ref.model_dump(mode="json") for ref in features.refs],
            "report": self._put(json.dumps(report, ensure_ascii=False)).model_dump(mode="json"),
            "metrics": {"accuracy": best.accuracy, "loss": best.loss, **_seconds(state)},
            "trial_count": sum(len(result.outcomes) for result in state.results),
        }

    def _put(self, document: str) -> BlobRef:
        return self._job.blobs.put(self._order.project_id, document.encode(), "application/json")


def _with(result: StageResult, outcomes: Sequence[TrialOutcome]) -> StageResult:
    """Further outcomes; the later of two of the same candidate counts."""
    by_number = {outcome.number: outcome for outcome in (*result.outcomes, *outcomes)}
    return replace(result, outcomes=tuple(by_number[number] for number in sorted(by_number)))


def _seconds(state: StudyState) -> dict[str, float]:
    return {
        "features_s": round(sum(result.feature_seconds for result in state.results), 2),
        "search_s": round(sum(result.search_seconds for result in state.results), 2),
    }


def _started(first: Stage) -> dict[str, Any]:
    return {"started": {"trial_count": len(first.candidates)}}


def _trial(outcome: TrialOutcome, number: int, stage: Stage) -> dict[str, Any]:
    metrics = {"accuracy": outcome.accuracy, "loss": outcome.loss, "epoch": float(outcome.epoch)}
    return {
        "trial": number,
        "candidate": outcome.candidate,
        # JSON has no number for what a training that ran away reports.
        "metrics": metrics if outcome.is_finite else {"epoch": metrics["epoch"]},
        "stopped_early": outcome.epoch < stage.epochs,
    }


def _nothing_trained(state: StudyState) -> PermanentError:
    tried = sum(len(result.stage.candidates) for result in state.results)
    return PermanentError(
        "study_failed",
        f"None of the {tried} candidates could be trained; see the log of hpo for the errors of the trials, "
        "make sure that the machine has enough memory, and start a new run.",
    )
