"""The evaluation job over fakes: what is judged, on which samples, and beside whom."""

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.errors import PermanentError
from chassis.manifests import ClassName
from schemas.base import DEFAULT_PROJECT, BlobRef, Split
from services.evaluator.evaluation_job import EvaluationJob
from services.evaluator.report import headline, primary_metric
from tests.fake_task import FakeTask
from tests.stage_builders import CLASSES, SMALL, Stage, Voice, a_model, a_version


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, FakeBlobStore())


def a_bundle(stage: Stage, classes: Sequence[ClassName] = CLASSES, threshold: float = 0.3) -> BlobRef:
    document = {
        "classes": [[each.id, each.name] for each in classes],
        "calibration": {"temperature": 1.0, "threshold": threshold},
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("manifest.json", json.dumps(document))
    return stage.blobs.put(DEFAULT_PROJECT, target.getvalue(), "application/zip")


def evaluate(
    stage: Stage,
    manifest: BlobRef,
    bundle: BlobRef,
    incumbent: BlobRef | None = None,
    evidence: BlobRef | None = None,
) -> dict[str, Any]:
    args = {
        "order": a_model(manifest, bundle, evidence).model_dump(mode="json"),
        "incumbent": incumbent and {"version": 2, "bundle": incumbent.model_dump(mode="json")},
    }
    job = EvaluationJob(stage.blobs, stage.cache, stage.scratch, lambda name: FakeTask())
    return job.run(Voice("evaluation", args).context)


def test_the_model_is_judged_on_the_test_split_alone_with_its_own_threshold(stage: Stage) -> None:
    result = evaluate(stage, a_version(stage.blobs, SMALL), a_bundle(stage, threshold=0.4))
    report = json.loads(stage.blobs.get(BlobRef.model_validate(result["report"])))
    assert report["sample_count"] == 2
    assert report["threshold"] == {"used": 0.4}
    assert result["metrics"] == {"accuracy": 0.5}
    assert result["primary_metric"] == "accuracy"
    assert "baseline_version" not in result


def unpacked(stage: Stage, result: dict[str, Any], name: str) -> Any:
    """A JSON file of the bundle that came of it."""
    bundle = stage.blobs.get(BlobRef.model_validate(result["bundle"]))
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return json.loads(archive.read(name))


@pytest.mark.parametrize(
    ("fine", "served", "accuracy"), [(0, "int8", 1.0), (1, "int8", 0.99), (2, "fp32", 1.0), (100, "fp32", 1.0)]
)
def test_int8_is_served_unless_it_loses_more_than_half_a_point(
    stage: Stage, fine: int, served: str, accuracy: float
) -> None:
    contents: list[tuple[str, Split]] = [(f"{'fine ' if n < fine else ''}cls_a {n}", "test") for n in range(100)]
    result = evaluate(stage, a_version(stage.blobs, contents), a_bundle(stage))
    report = json.loads(stage.blobs.get(BlobRef.model_validate(result["report"])))
    assert report["precision"] == {
        "served": served,
        "accuracies": {"int8": 1 - fine / 100, "fp32": 1.0},
        "sample_count": 100,
    }
    assert unpacked(stage, result, "settled.json") == {"served": served, "accuracy": accuracy}
    assert result["metrics"]["accuracy"] == accuracy


def test_precisions_are_compared_on_few_samples_and_the_served_one_judged_on_all(stage: Stage) -> None:
    contents: list[tuple[str, Split]] = [(f"{'hard ' if n >= 150 else ''}cls_a {n}", "test") for n in range(200)]
    result = evaluate(stage, a_version(stage.blobs, contents), a_bundle(stage))
    report = json.loads(stage.blobs.get(BlobRef.model_validate(result["report"])))
    assert report["precision"]["sample_count"] == 150
    assert report["sample_count"] == 200
    assert report["accuracy"] == pytest.approx(150 / 200)


def test_test_samples_are_compared_with_what_was_trained_on(stage: Stage) -> None:
    prints = {
        "cls_a 1": "00000000000000ff",
        "cls_b 2": "",
        "cls_a 5": "00000000000000fe",
        "hard cls_b 6": "ff00000000000000",
    }
    manifest = a_version(stage.blobs, SMALL, fingerprints=prints)
    evidence = stage.blobs.put(DEFAULT_PROJECT, b"{}", "application/octet-stream")
    result = evaluate(stage, manifest, a_bundle(stage), evidence=evidence)
    report = json.loads(stage.blobs.get(BlobRef.model_validate(result["report"])))
    assert report["leaks"] == [hashlib.sha256(b"cls_a 5").hexdigest()]
    assert report["vectors"] == [[len("cls_a 5")], [len("hard cls_b 6")]]


def test_predictions_pair_up_with_their_samples_over_many_batches(stage: Stage) -> None:
    many = [(f"{'hard ' if n % 10 == 0 else ''}cls_{'ab'[n % 2]} {n}", "test") for n in range(100)]
    result = evaluate(stage, a_version(stage.blobs, many), a_bundle(stage))  # type: ignore[arg-type]  # "test" is a Split
    assert result["metrics"]["accuracy"] == pytest.approx(0.9)


def test_the_version_in_production_is_judged_on_the_same_samples(stage: Stage) -> None:
    result = evaluate(stage, a_version(stage.blobs, SMALL), a_bundle(stage), a_bundle(stage, threshold=0.1))
    assert (result["baseline_version"], result["baseline_metrics"]) == (2, {"accuracy": 0.5})


def test_a_version_in_production_with_other_classes_can_still_be_compared(stage: Stage) -> None:
    older = a_bundle(stage, [CLASSES[0], ClassName("cls_z", "quince")])
    result = evaluate(stage, a_version(stage.blobs, SMALL), a_bundle(stage), older)
    assert result["baseline_metrics"] == {"accuracy": 0.5}


@pytest.mark.parametrize("damage", ["missing", "no zip"])
def test_a_broken_version_in_production_does_not_stop_the_new_one(stage: Stage, damage: str) -> None:
    broken = stage.blobs.put(DEFAULT_PROJECT, b"no zip", "application/zip")
    if damage == "missing":
        stage.blobs.delete(broken.key)
    result = evaluate(stage, a_version(stage.blobs, SMALL), a_bundle(stage), broken)
    assert result["baseline_version"] == 2
    assert "baseline_metrics" not in result


def test_a_bundle_that_is_no_zip_fails_the_evaluation_for_good(stage: Stage) -> None:
    broken = stage.blobs.put(DEFAULT_PROJECT, b"no zip", "application/zip")
    with pytest.raises(PermanentError) as caught:
        evaluate(stage, a_version(stage.blobs, SMALL), broken)
    assert caught.value.code == "bundle_invalid"


def test_a_version_without_test_samples_gives_a_report_without_figures(stage: Stage) -> None:
    result = evaluate(stage, a_version(stage.blobs, [("cls_a 1", "train"), ("cls_b 2", "train")]), a_bundle(stage))
    assert result["metrics"] == {}
    assert stage.leftovers() == []


def test_the_headline_has_no_counts_no_parts_and_nothing_unknown() -> None:
    unknown = {"macro_f1": None, "log_loss": float("nan")}
    report: dict[str, Any] = {"accuracy": 0.5, "sample_count": 7, "classes": [], **unknown}
    assert headline(report) == {"accuracy": 0.5}
    assert primary_metric(report) == "accuracy"
    assert primary_metric({"primary_metric": "macro_f1"}) == "macro_f1"
