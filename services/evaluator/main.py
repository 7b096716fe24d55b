"""Starts the evaluator: `python -m services.evaluator.main`; with the argument `job`, runs one evaluation instead."""

import sys
from typing import Any

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.patient import PatientBlobStore
from chassis.composition import Assembly, blob_store, connect, databases
from chassis.job_process import JobContext, run_job
from chassis.runtime import run
from chassis.settings import load_settings
from services.evaluator.handlers import EVALUATION, EVALUATION_JOB, HANDLERS
from services.evaluator.incumbents import EvaluatorDeps
from services.evaluator.settings import EvaluatorSettings

NAME = "evaluator"
MODULE = "services.evaluator.main"


async def serve(settings: EvaluatorSettings) -> None:
    """Until it is told to stop."""
    registry = databases(settings, "registry")["registry"]
    deps = EvaluatorDeps(**vars(connect(settings, NAME)), registry=registry)
    assembly = Assembly(settings, deps, HANDLERS)
    jobs = assembly.worker(deps, [EVALUATION_JOB], MODULE, spare_after_s=settings.spare_job_after_s)
    try:
        await assembly.service({"consumer": assembly.consumer(), "jobs": jobs}).run()
    finally:
        await registry.close()


def evaluate(settings: EvaluatorSettings, context: JobContext) -> dict[str, Any]:
    """The work of the job process. Its libraries are imported here, so that the service itself stays small."""
    from learning.registry import get_task
    from services.evaluator.evaluation_job import EvaluationJob

    blobs = PatientBlobStore(blob_store(settings))
    job = EvaluationJob(
        blobs=blobs,
        cache=LocalBlobCache(blobs, settings.scratch_dir / "samples"),
        scratch_dir=settings.scratch_dir,
        plugin_of=get_task,
    )
    return job.run(context)


def prepare() -> None:
    """Load what every evaluation needs."""
    import services.evaluator.evaluation_job  # noqa: F401
    from learning.registry import all_tasks

    for task in all_tasks():
        task.preload("evaluation")


def main() -> None:
    """Read the settings and run."""
    settings = load_settings(EvaluatorSettings)
    if sys.argv[1:] == ["job"]:
        run_job(NAME, settings, {EVALUATION: lambda context: evaluate(settings, context)}, prepare)
    else:
        run(NAME, settings.log_level, lambda: serve(settings))


if __name__ == "__main__":
    main()
