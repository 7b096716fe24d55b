"""Candidates tried in parallel by Ray Tune, the hopeless ones stopped early by ASHA. Only here Ray is imported.

The features lie once in Ray's object store and are mapped by every trial without a copy; an actor
that has finished a trial takes the next one, so Paddle is imported once a core. Nothing of Ray outlives the study:
results go to a folder that is deleted, and a private runtime keeps its session files in a folder of its own.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler

from learning.study import Candidate, Stage, TrialOutcome
from learning.task import FeatureSet
from services.hpo.ray_trial_runner import NUMBER, CandidateTrial, TrialWork
from services.hpo.search import OnTrial, StageOrder

log = logging.getLogger(__name__)

SAMPLE_BYTES = 64 * 1024
"""What a sample may need of the object store: two copies of 12 views of 1,280 half-precision numbers."""
MIN_STORE_BYTES = 256 * 1024**2
MAX_STORE_BYTES = 8 * 1024**3
SESSION_PREFIX = "elray-"


class TrialListener(tune.Callback):  # type: ignore[misc]  # Ray's classes are untyped here
    """Collects outcomes as they come. Called by Tune, in the process and thread that runs the study."""

    def __init__(self, candidates: Mapping[int, Candidate], on_trial: OnTrial) -> None:
        self._candidates = candidates
        self._on_trial = on_trial
        self._latest: dict[int, TrialOutcome] = {}
        self._ended = 0

    def __getstate__(self) -> dict[str, Any]:
        # Tune saves its callbacks with the experiment, to restore it; a study is tried again as a whole instead.
        return {}

    def outcomes(self) -> list[TrialOutcome]:
        """The last one of every trial that reported anything."""
        return [self._latest[number] for number in sorted(self._latest)]

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: Any, **info: Any) -> None:
        """See tune.Callback."""
        number = trial.config[NUMBER]
        self._latest[number] = TrialOutcome.of(number, self._candidates[number], result)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """See tune.Callback. Called for trials that were stopped early, too."""
        self._ended += 1
        outcome = self._latest.get(trial.config[NUMBER])
        if outcome is not None:
            self._on_trial(outcome, self._ended)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """See tune.Callback. The others go on."""
        self._ended += 1
        number = trial.config[NUMBER]
        log.warning("trial %d (%s) failed: %s", number, self._candidates[number], trial.get_error())


class EndOfTime(tune.Stopper):  # type: ignore[misc]  # Ray's classes are untyped here
    """Stops the study when its time is over, but not before one trial has come to its last epoch.

    A run without a winner is worth nothing, and a loaded machine may need the whole time to start Ray.
    """

    def __init__(self, order: StageOrder) -> None:
        self._ends = time.monotonic() + order.limit_s
        self._epochs = order.stage.epochs
        self._has_finalist = not order.needs_finalist

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """See tune.Stopper."""
        self._has_finalist = self._has_finalist or result["epoch"] >= self._epochs
        return False

    def stop_all(self) -> bool:
        """See tune.Stopper."""
        return self._has_finalist and time.monotonic() > self._ends


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

    def run(self, order: StageOrder, features: FeatureSet, on_trial: OnTrial) -> list[TrialOutcome]:
        """See TrialSearch."""
        self.warm_up(len(features.shas))
        if self._starting is not None:
            self._starting.result()
        listener = TrialListener(order.candidates, on_trial)
        self.scratch_dir.mkdir(parents=True, exist_ok=True)
        results = Path(tempfile.mkdtemp(prefix="ray-results-", dir=self.scratch_dir))
        try:
            _tuner(order, features, listener, results).fit()
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
            include_dashboard=False,
            object_store_memory=min(MAX_STORE_BYTES, max(MIN_STORE_BYTES, wanted)),
            _temp_dir=str(self._session),
            _node_ip_address="127.0.0.1",
            **quiet,
        )


def resources_of(stage: Stage, cluster: Mapping[str, float]) -> dict[str, float]:
    """What Ray sets aside for one trial: its cores, and where there are GPUs an equal share of them.

    Without a GPU of its own a trial would not see any, since Ray hides the others.
    """
    at_once = max(1.0, cluster.get("CPU", 1.0) // stage.threads)
    gpus = cluster.get("GPU", 0.0)
    return {"cpu": stage.threads, **({"gpu": min(1.0, gpus / at_once)} if gpus else {})}


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


def _tuner(order: StageOrder, features: FeatureSet, listener: TrialListener, results: Path) -> Any:
    stage = order.stage
    trainable = tune.with_parameters(
        CandidateTrial,
        work=TrialWork(order.task, stage.epochs, order.seed, stage.threads, order.candidates),
        features=features,
    )
    return tune.Tuner(
        tune.with_resources(trainable, resources_of(stage, ray.cluster_resources())),
        param_space={NUMBER: tune.grid_search(sorted(order.candidates))},
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            scheduler=ASHAScheduler(
                time_attr="epoch",
                max_t=stage.epochs,
                grace_period=min(stage.grace_epochs, stage.epochs),
                reduction_factor=stage.reduction_factor,
            ),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name="study",
            storage_path=str(results.resolve()),
            callbacks=[listener],
            stop=EndOfTime(order),
            failure_config=tune.FailureConfig(max_failures=1),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
            verbose=0,
        ),
    )
