"""Events that make a registry's runs and models."""

from chassis.deps import Deps
from chassis.records import Repository
from schemas.base import AutoTrain, Event
from schemas.dataset import DatasetVersionReady
from schemas.learning import ModelEvaluated, ModelTrained, StudyCompleted
from services.registry.handlers import HANDLERS
from services.registry.records import Alias, AliasMove, Run
from services.registry.run_log import automatic_run_id, model_of
from tests.builders import a_blob, dispatcher, record_of

DATASET = "ds_1"
MODEL = model_of(DATASET)


def a_ready_version(version: int = 1, auto_train: AutoTrain = "fast") -> DatasetVersionReady:
    return DatasetVersionReady(
        dataset_id=DATASET,
        version=version,
        task="image_classification",
        auto_train=auto_train,
        manifest=a_blob("manifest"),
        sample_count=10,
        rejected_count=0,
        class_count=2,
        split_counts={"train": 8, "validation": 1, "test": 1},
    )


def a_study(run_id: str) -> StudyCompleted:
    started = {"run_id": run_id, "study_id": "std_1", "dataset_id": DATASET, "version": 1, "model_id": MODEL}
    budget = {"preset": "fast", "seconds": 60, "deadline": "2026-01-01T00:01:00Z"}
    found = {"manifest": a_blob(), "winner": a_blob(), "features": [], "metrics": {}, "trial_count": 3}
    return StudyCompleted.model_validate(
        {**started, **found, "task": "image_classification", "budget": budget, "seed": 1}
    )


def a_trained_model(run_id: str) -> ModelTrained:
    return ModelTrained(
        run_id=run_id,
        dataset_id=DATASET,
        version=1,
        model_id=MODEL,
        task="image_classification",
        manifest=a_blob(),
        bundle=a_blob("bundle"),
        metrics={},
    )


def an_evaluation(run_id: str, accuracy: float, baseline: tuple[int, float] | None = None) -> ModelEvaluated:
    return ModelEvaluated(
        run_id=run_id,
        model_id=MODEL,
        bundle=a_blob("bundle"),
        report=a_blob("report"),
        metrics={"accuracy": accuracy},
        primary_metric="accuracy",
        baseline_version=baseline[0] if baseline else None,
        baseline_metrics={"accuracy": baseline[1]} if baseline else None,
        test_sample_count=40,
    )


async def deliver(deps: Deps, *events: Event, times: int = 1) -> None:
    for number, event in enumerate(events):
        record = record_of(event, event_id=f"evt_{event.TYPE}_{event.key}_{number}_{event.model_dump_json()}")
        for _ in range(times):
            await dispatcher(deps, HANDLERS).deliver(record)


async def run_through(deps: Deps, version: int, evaluation: ModelEvaluated) -> None:
    """A version of the data set becomes a version of the model."""
    run_id = automatic_run_id(DATASET, version)
    await deliver(deps, a_ready_version(version), a_study(run_id), a_trained_model(run_id), evaluation)


async def versions_in_production(deps: Deps, count: int) -> None:
    """Versions 1 to `count`, each of which went to production by itself."""
    await run_through(deps, 1, an_evaluation(automatic_run_id(DATASET, 1), 0.9))
    for number in range(2, count + 1):
        await run_through(deps, number, an_evaluation(automatic_run_id(DATASET, number), 0.9, (number - 1, 0.9)))


async def the_run(deps: Deps, run_id: str) -> Run:
    run = await Repository(deps.database, Run).get(run_id)
    assert run is not None
    return run


async def production(deps: Deps) -> int | None:
    alias = await Repository(deps.database, Alias).get(f"{MODEL}/production")
    return alias.version if alias else None


async def history(deps: Deps) -> list[AliasMove]:
    """Oldest first."""
    return sorted(await Repository(deps.database, AliasMove).find({"model_id": MODEL}), key=lambda move: move.id)
