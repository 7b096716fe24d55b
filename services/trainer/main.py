"""Starts the trainer: `python -m services.trainer.main`; with the argument `job`, runs one training instead."""

import os
import sys
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.patient import PatientBlobStore
from chassis.composition import Assembly, blob_store, connect
from chassis.failpoints import Failpoints
from chassis.job_process import JobContext, run_job
from chassis.runtime import run
from chassis.settings import load_settings
from services.trainer.handlers import HANDLERS, TRAINING, TRAINING_JOB
from services.trainer.settings import TrainerSettings

NAME = "trainer"
MODULE = "services.trainer.main"


def job_environment() -> dict[str, str]:
    """Before Paddle is imported: its MKL takes a slow path on AMD without the first; a training has all cores."""
    return {"MKL_DEBUG_CPU_TYPE": "5", "OMP_NUM_THREADS": str(os.cpu_count() or 1)}


async def serve(settings: TrainerSettings) -> None:
    """Until it is told to stop."""
    deps = connect(settings, NAME)
    assembly = Assembly(settings, deps, HANDLERS)
    jobs = assembly.worker(deps, [TRAINING_JOB], MODULE, job_environment(), settings.spare_job_after_s)
    await assembly.service({"consumer": assembly.consumer(), "jobs": jobs}).run()


def train(settings: TrainerSettings, context: JobContext) -> dict[str, Any]:
    """The work of the job process. Its libraries are imported here, so that the service itself stays small."""
    from learning.device import choose_device
    from learning.registry import get_task
    from services.trainer.training_job import TrainingJob

    blobs = PatientBlobStore(blob_store(settings))
    job = TrainingJob(
        blobs=blobs,
        cache=LocalBlobCache(blobs, settings.scratch_dir / "samples"),
        scratch_dir=settings.scratch_dir,
        backbones=settings.backbone_path,
        plugin_of=lambda task: get_task(task, choose_device()),
        reach=Failpoints.parse(settings.failpoints, settings.data_dir).reach,
    )
    return job.run(context)


def prepare() -> None:
    """Load what every training needs."""
    import services.trainer.training_job  # noqa: F401
    from learning.registry import all_tasks

    for task in all_tasks():
        task.preload("training")


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(TrainerSettings)
    if sys.argv[1:] == ["job"]:
        run_job(NAME, settings, {TRAINING: lambda context: train(settings, context)}, prepare)
    else:
        run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
