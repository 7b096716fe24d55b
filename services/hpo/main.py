"""Starts hpo: `python -m services.hpo.main`; with the argument `job`, runs one study instead."""

import os
import sys
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.patient import PatientBlobStore
from chassis.clock import SystemClock
from chassis.composition import Assembly, blob_store, connect
from chassis.failpoints import Failpoints
from chassis.job_process import JobContext, run_job
from chassis.runtime import run
from chassis.settings import load_settings
from services.hpo.handlers import HANDLERS, STUDY, STUDY_JOB
from services.hpo.settings import HpoSettings

NAME = "hpo"
MODULE = "services.hpo.main"
JOB_ENVIRONMENT = {
    # Paddle's MKL takes a slow path on AMD without the first. A trial in the job process has all cores, NumPy
    # has one. Ray's workers set their own.
    "MKL_DEBUG_CPU_TYPE": "5",
    "OMP_NUM_THREADS": str(os.cpu_count() or 1),
    "OPENBLAS_NUM_THREADS": "1",
    # Of Ray: reports to nobody, no tables on the console, no log files of trials.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
}
# Without it Ray replaces 127.0.0.1 by the machine's address; despite its name it is read on every system.
PRIVATE_RAY_ENVIRONMENT = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def job_environment(settings: HpoSettings) -> dict[str, str]:
    """What has to be set before the libraries of the job process are imported."""
    return JOB_ENVIRONMENT if settings.ray_address else {**JOB_ENVIRONMENT, **PRIVATE_RAY_ENVIRONMENT}


async def serve(settings: HpoSettings) -> None:
    """Until it is told to stop."""
    deps = connect(settings, NAME)
    assembly = Assembly(settings, deps, HANDLERS)
    jobs = assembly.worker(deps, [STUDY_JOB], MODULE, job_environment(settings), settings.spare_job_after_s)
    await assembly.service({"consumer": assembly.consumer(), "jobs": jobs}).run()


def study(settings: HpoSettings, context: JobContext) -> dict[str, Any]:
    """The work of the job process. Its libraries are imported here, so that the service itself stays small."""
    from learning.registry import get_task
    from services.hpo.plain_search import PlainSearch
    from services.hpo.ray_runner import RaySearch
    from services.hpo.study_job import StudyJob

    blobs = PatientBlobStore(blob_store(settings))
    job = StudyJob(
        blobs=blobs,
        cache=LocalBlobCache(blobs, settings.scratch_dir / "samples"),
        scratch_dir=settings.scratch_dir,
        # Among the folders of jobs, where what a killed study left is removed in time.
        plain=PlainSearch(get_task),
        search=RaySearch(settings.ray_address, settings.scratch_dir / "jobs"),
        clock=SystemClock(),
        plugin_of=get_task,
        backbones=settings.backbone_path,
        reach=Failpoints.parse(settings.failpoints, settings.data_dir).reach,
    )
    return job.run(context)


def prepare() -> None:
    """Load what every study needs."""
    import services.hpo.ray_runner
    import services.hpo.study_job  # noqa: F401
    from learning.registry import all_tasks

    for task in all_tasks():
        task.preload("study")


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(HpoSettings)
    if sys.argv[1:] == ["job"]:
        run_job(NAME, settings, {STUDY: lambda context: study(settings, context)}, prepare)
    else:
        run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
