"""Candidates tried in parallel by Ray Tune, the hopeless ones stopped early by ASHA. Only here Ray is imported.

One core a trial. The features lie once in Ray's object store and are mapped by every trial without a copy; an actor
that has finished a trial takes the next one, so Paddle is imported once a core. Nothing of Ray outlives the study:
results go to a folder that is deleted, and a private runtime keeps its session files in a folder of its own.
"""

import logging
import os
import shutil
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.basic_variant import BasicVariantGenerator

from learning.search_space import kind_of
from learning.task import FeatureSet, Json, StudyPlan
from services.hpo.ray_trial_runner import CandidateTrial
from services.hpo.search import OnTrial, TrialOutcome

log = logging.getLogger(__name__)

SAMPLE_BYTES = 64 * 1024
"""What a sample may need of the object store: two copies of 12 views of 1,280 half-precision numbers."""
MIN_STORE_BYTES = 256 * 1024**2
MAX_STORE_BYTES = 8 * 1024**3
SESSION_PREFIX = "elray-"


def tune_space(space: Json) -> dict[str, Any]:
    """The plug-in's description of the space in Ray's terms; constants stay as they are."""
    return {name: _domain(entry) for name, entry in space.items()}


def _domain(entry: Any) -> Any:
    kind = kind_of(entry)
    if kind == "constant":
        return entry
    if kind == "choice":
        return tune.choice(entry[kind])
    low, high = entry[kind]
    return tune.uniform(low, high) if kind == "uniform" else tune.loguniform(low, high)


class TrialListener(tune.Callback):  # type: ignore[misc]  # Ray's classes are untyped here
    """Collects outcomes as they come. Called by Tune, in the process and thread that runs the study."""

    def __init__(self, on_trial: OnTrial) -> None:
        self._on_trial = on_trial
        self._numbers: dict[str, int] = {}
        self._latest: dict[int, TrialOutcome] = {}
        self._ended = 0

    def __getstate__(self) -> dict[str, Any]:
        # Tune saves its callbacks with the experiment, to restore it; a study is tried again as a whole instead.
        return {}

    def outcomes(self) -> list[TrialOutcome]:
        """The last one of every trial that reported anything."""
        return [self._latest[number] for number in sorted(self._latest)]

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """See tune.Callback."""
        self._number_of(trial)

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: Any, **info: Any) -> None:
        """See tune.Callback."""
        number = self._number_of(trial)
        self._latest[number] = outcome_of(number, trial.config, result)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """See tune.Callback. Called for trials that were stopped early, too."""
        self._ended += 1
        outcome = self._latest.get(self._number_of(trial))
        if outcome is not None:
            self._on_trial(outcome, self._ended)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """See tune.Callback. The others go on."""
        self._ended += 1
        log.warning("trial %d (%s) failed: %s", self._number_of(trial), trial.config, trial.get_error())

    def _number_of(self, trial: Any) -> int:
        """Trials count from 0 in the order of their start."""
        return self._numbers.setdefault(trial.trial_id, len(self._numbers))


class EndOfTime(tune.Stopper):  # type: ignore[misc]  # Ray's classes are untyped here
    """Stops the study when its time is over, but not before one trial has come to its last epoch.

    A run without a winner is worth nothing, and a loaded machine may need the whole time to start Ray.
    """

    def __init__(self, limit_s: float, epochs: int) -> None:
        self._ends = time.monotonic() + limit_s
        self._epochs = epochs
        self._has_finalist = False

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """See tune.Stopper."""
        self._has_finalist = self._has_finalist or result["epoch"] >= self._epochs
        return False

    def stop_all(self) -> bool:
        """See tune.Stopper."""
        return self._has_finalist and time.monotonic() > self._ends


def outcome_of(number: int, config: dict[str, Any], result: dict[str, Any]) -> TrialOutcome:
    """What a trial last reported."""
    figures = {name: float(result[name]) for name in ("accuracy", "loss", "temperature", "threshold")}
    candidate = {name: _plain(value) for name, value in config.items()}
    return TrialOutcome(number, candidate, int(result["epoch"]), **figures)


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's, which JSON knows."""
    return value.item() if hasattr(value, "item") else value


@dataclass
class RaySearch:
    """The runtime at `address`, or a private one for the life of this object when it is None."""

    address: str | None
    scratch_dir: Path
    _starting: Future[None] | None = None
    _session: Path | None = None
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="ray-start"))

    def warm_up(self, sample_count: int) -> None:
        """See TrialSearch. Ray takes seconds to start, mostly waiting: features are computed meanwhile."""
        if self._starting is None:
            self._starting = self._threads.submit(self._start, sample_count)

    def run(
        self, plan: StudyPlan, train: FeatureSet, validation: FeatureSet, limit_s: float, on_trial: OnTrial
    ) -> list[TrialOutcome]:
        """See TrialSearch."""
        self.warm_up(len(train.shas) + len(validation.shas))
        if self._starting is not None:
            self._starting.result()
        listener = TrialListener(on_trial)
        self.scratch_dir.mkdir(parents=True, exist_ok=True)
        results = Path(tempfile.mkdtemp(prefix="ray-results-", dir=self.scratch_dir))
        try:
            _tuner(plan, train, validation, limit_s, listener, results).fit()
        finally:
            shutil.rmtree(results, ignore_errors=True)
        return listener.outcomes()

    def close(self) -> None:
        """See TrialSearch."""
        self._threads.shutdown(wait=True)
        if ray.is_initialized():
            ray.shutdown()
        if self._session is not None:
            shutil.rmtree(self._session, ignore_errors=True)

    def _start(self, sample_count: int) -> None:
        # It warns of each trial without a result file; outcomes come by the listener, files are switched off.
        logging.getLogger("ray.tune.analysis.experiment_analysis").setLevel(logging.ERROR)
        quiet = {"log_to_driver": False, "logging_level": logging.WARNING, "configure_logging": False}
        if self.address is not None:
            ray.init(address=self.address, **quiet)
            return
        # Short, because the paths of Unix sockets below it may have 107 bytes.
        _remove_abandoned_sessions()
        self._session = Path(tempfile.mkdtemp(prefix=f"{SESSION_PREFIX}{os.getpid()}-"))
        wanted = sample_count * SAMPLE_BYTES
        ray.init(
            num_cpus=os.cpu_count() or 1,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=min(MAX_STORE_BYTES, max(MIN_STORE_BYTES, wanted)),
            _temp_dir=str(self._session),
            _node_ip_address="127.0.0.1",
            **quiet,
        )


def _remove_abandoned_sessions() -> None:
    """Delete the session folders of studies that were killed; their names hold the number of their process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SESSION_PREFIX}*-*"):
        owner = folder.name.removeprefix(SESSION_PREFIX).split("-")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 only asks
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _tuner(
    plan: StudyPlan,
    train: FeatureSet,
    validation: FeatureSet,
    limit_s: float,
    listener: TrialListener,
    results: Path,
) -> Any:
    trainable = tune.with_parameters(
        CandidateTrial, task=plan.task, epochs=plan.epochs, seed=plan.seed, train=train, validation=validation
    )
    return tune.Tuner(
        tune.with_resources(trainable, {"cpu": 1}),
        param_space=tune_space(plan.space),
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=plan.trials,
            search_alg=BasicVariantGenerator(
                points_to_evaluate=[dict(start) for start in plan.starts], random_state=plan.seed
            ),
            scheduler=ASHAScheduler(
                time_attr="epoch",
                max_t=plan.epochs,
                grace_period=min(plan.grace_epochs, plan.epochs),
                reduction_factor=plan.reduction_factor,
            ),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name="study",
            storage_path=str(results.resolve()),
            callbacks=[listener],
            stop=EndOfTime(limit_s, plan.epochs),
            failure_config=tune.FailureConfig(max_failures=1),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
            verbose=0,
        ),
    )
