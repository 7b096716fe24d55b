"""The command line, over a platform that answers from a table."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from easyloop.cli import app
from easyloop.space_file import EXAMPLE
from tests.unit.easyloop.platform import DATASET, ENDED, IMPORT, RUN, T0, VERSION, FakePlatform, a_problem, a_stream

MODEL = {"id": "mdl_1", "dataset_id": "ds_1", "name": "fruit", "task": "image_classification", "last_version": 2,
         "aliases": {"production": 2}, "created_at": T0}  # fmt: skip
EVENTS = a_stream(
    ("easyloop.run.stage.changed.v1", {"state": "searching"}),
    ("easyloop.study.started.v1", {"trial_count": 8}),
    ("easyloop.study.progressed.v1", {"stage": "features", "fraction": 0.5, "eta_s": 12.0}),
    (
        "easyloop.trial.completed.v1",
        {"trial": 3, "candidate": {"head": "cosine", "rate": 0.00123}, "metrics": {"accuracy": 0.9125},
         "stopped_early": True},
    ),
    ("easyloop.model.evaluated.v1", {"metrics": {"accuracy": 0.93}}),
    ("easyloop.run.ended.v1", {"state": "succeeded"}),
)  # fmt: skip


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


def call(platform: FakePlatform, *arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), obj=platform.client)


def test_uploading_and_waiting_shows_the_version_the_trials_and_the_model(
    platform: FakePlatform, tmp_path: Path
) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(b"PK")
    platform.on("POST /v1/datasets", DATASET)
    platform.on("POST /v1/datasets/ds_1/imports", IMPORT)
    platform.on("GET /v1/datasets/ds_1/imports/imp_1", {**IMPORT, "status": "ingested", "version": 1})
    platform.on("GET /v1/datasets/ds_1/versions/1", VERSION)
    platform.on("GET /v1/runs", {"items": []}, {"items": [RUN]})
    platform.on("GET /v1/runs/run_1/events", EVENTS)
    platform.on("GET /v1/runs/run_1", ENDED)
    result = call(platform, "data", "upload", str(archive), "--wait")
    assert result.exit_code == 0, result.output
    assert "data set ds_1, import imp_1" in result.output
    assert "Apfel: 9" in result.output
    assert "trial 3: accuracy 0.9125 (head=cosine rate=0.00123, stopped early)" in result.output
    assert "test: accuracy 0.93" in result.output
    assert "model mdl_1 version 1" in result.output


def test_without_waiting_it_says_where_to_look(platform: FakePlatform, tmp_path: Path) -> None:
    archive = tmp_path / "fruit.zip"
    archive.write_bytes(b"PK")
    platform.on("GET /v1/datasets/ds_1", DATASET)
    platform.on("POST /v1/datasets/ds_1/imports", IMPORT)
    result = call(platform, "data", "upload", str(archive), "--dataset", "ds_1")
    assert (result.exit_code, "easyloop dataset show ds_1" in result.output) == (0, True)


def test_what_is_no_file_makes_no_data_set(platform: FakePlatform, tmp_path: Path) -> None:
    result = call(platform, "data", "upload", str(tmp_path))
    assert (result.exit_code, platform.asked) == (1, [])
    assert "is a folder; pack it into a zip" in result.output


def test_a_data_set_is_shown_with_what_was_refused(platform: FakePlatform) -> None:
    refused = [{"name": "a.jpg", "code": "x", "sentence": "a.jpg: the file is empty; upload it again."}]
    platform.on("GET /v1/datasets/ds_1", DATASET)
    platform.on("GET /v1/datasets/ds_1/versions", {"items": [VERSION]})
    platform.on("GET /v1/datasets/ds_1/versions/1", {**VERSION, "rejections": refused})
    result = call(platform, "dataset", "show", "ds_1")
    assert result.exit_code == 0
    assert "1\tready\t9\t0\t1" in result.output
    assert "refused: a.jpg: the file is empty" in result.output


def test_a_failed_run_ends_with_its_sentence_and_status_1(platform: FakePlatform) -> None:
    failure = {"code": "study_failed", "sentence": "No candidate could be trained; add images."}
    platform.on("POST /v1/runs", RUN)
    platform.on("GET /v1/runs/run_1/events", a_stream(("easyloop.run.ended.v1", {})))
    platform.on("GET /v1/runs/run_1", {**RUN, "state": "failed", "failure": failure})
    result = call(platform, "run", "start", "ds_1", "--preset", "balanced", "--wait")
    assert result.exit_code == 1
    assert "add images" in result.output


def test_a_report_says_how_far_to_trust_it_and_what_stood_out(platform: FakePlatform) -> None:
    platform.on("GET /v1/models/mdl_1", MODEL)
    nearest = [{"sha": "e" * 64, "label": "c1", "likeness": 0.9}]
    case = {"sha": "f" * 64, "truth": "c0", "predicted": "c1", "score": 0.97, "truth_score": 0.01, "nearest": nearest}
    found = {
        "sample_count": 40, "accuracy": 0.9, "accuracy_interval": [0.77, 0.96], "macro_f1": None,
        "classes": [{"id": "c0", "name": "Apfel"}, {"id": "c1", "name": "Birne"}],
        "training": {"expected_with_twice_the_data": 0.934},
        "precision": {"served": "int8", "accuracies": {"int8": 0.9, "fp32": None}, "sample_count": 40},
        "findings": [{"code": "x", "severity": "warning", "sentence": "Only 40 pictures.", "remedy": "Add more."}],
        "worst_cases": [case],
    }  # fmt: skip
    platform.on("GET /v1/models/mdl_1/versions/2/report", found)
    output = call(platform, "model", "report", "mdl_1").output
    assert "accuracy 0.9000 (95 % confidence: 0.7700 to 0.9600) on 40 test samples" in output
    assert "about 93.4%" in output
    assert "served in int8 (int8 0.9000, fp32 unknown)" in output
    assert "warning: Only 40 pictures. Add more." in output
    assert "Apfel\tBirne 0.97\tBirne" in output


def test_an_expert_gives_a_search_space_as_a_file(platform: FakePlatform, tmp_path: Path) -> None:
    platform.on("POST /v1/runs", RUN)
    file = tmp_path / "space.yaml"
    file.write_text(EXAMPLE, encoding="utf-8")
    assert call(platform, "run", "start", "ds_1", "--space", str(file)).exit_code == 0
    sent = json.loads(platform.asked[-1].content)["space"]
    assert sent["trials"] == 8
    assert sent["parameters"]["rate_factor"] == {"loguniform": [0.3, 3]}


@pytest.mark.parametrize(("content", "told"), [("[1, 2", "cannot be read as YAML"), ("- 1", "One looks like this")])
def test_a_file_that_is_no_search_space_is_told(
    platform: FakePlatform, tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(content, encoding="utf-8")
    result = call(platform, "run", "start", "ds_1", "--space", str(file))
    assert result.exit_code == 1
    assert told in result.output
    assert platform.asked == []


def test_runs_and_models_are_listed_and_shown(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs", {"items": [RUN]})
    platform.on("GET /v1/runs/run_1", RUN)
    platform.on("GET /v1/models", {"items": [MODEL]})
    platform.on("GET /v1/models/mdl_1", MODEL)
    version = {"model_id": "mdl_1", "version": 2, "run_id": "run_1", "dataset_id": "ds_1", "dataset_version": 1,
               "metrics": {"accuracy": 0.93}, "created_at": T0}  # fmt: skip
    platform.on("GET /v1/models/mdl_1/versions", {"items": [version]})
    alias = {"model_id": "mdl_1", "alias": "production", "version": 2, "serving_version": 1}
    platform.on("GET /v1/models/mdl_1/aliases", {"items": [alias]})
    assert "run_1\tsearching" in call(platform, "run", "list").output
    assert "run_1  searching" in call(platform, "run", "show", "run_1").output
    assert "production -> 2" in call(platform, "model", "list").output
    shown = call(platform, "model", "show", "mdl_1").output
    assert "production -> version 2 (answering from version 1)" in shown
    assert "accuracy 0.93" in shown


def test_predictions_are_lines_with_doubts_and_failures_marked(platform: FakePlatform, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jpg", "b.jpg", "c.jpg")]
    for file in files:
        file.write_bytes(b"x")

    def entry(score: float) -> dict[str, object]:
        return {"name": "x", "results": [{"class_id": "c0", "name": "Apfel [rot]", "score": score}]}

    broken = {"name": "c.jpg", "results": [], "failure": {"code": "x", "sentence": "it breaks off"}}
    answer = {"model_id": "mdl_1", "version": 1, "threshold": 0.5, "predictions": [entry(0.9), entry(0.3), broken]}
    platform.on("POST /v1/models/mdl_1/predict", answer)
    result = call(platform, "predict", "mdl_1", *map(str, files))
    assert result.output.splitlines() == [
        f"{files[0]}\tApfel [rot]\t0.900\t",
        f"{files[1]}\tApfel [rot]\t0.300\tdoubtful",
        f"{files[2]}\t\t\tit breaks off",
    ]


def test_events_of_a_run_are_json_lines_of_the_types_asked_for(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs/run_1/events", EVENTS)
    result = call(platform, "events", "tail", "--run", "run_1", "--type", "easyloop.study.started.v1")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) == 1
    assert '"trial_count": 8' in result.output


def test_a_trace_is_one_tree(platform: FakePlatform) -> None:
    def span(
        service: str, name: str, span_id: str, parent: str | None, start: int, **more: object
    ) -> dict[str, object]:
        return {"service": service, "name": name, "span_id": span_id, "parent_span_id": parent, "start": f"{start}",
                "duration_ms": 1500.0 * start, **more}  # fmt: skip

    spans = [
        span("hpo", "job study", "3", "2", 3, status="error", status_message="study_failed"),
        span("gateway", "POST /v1/datasets", "1", "", 1),
        span(
            "registry", "process gateway.requests", "2", "1", 2, attributes={"cloudevents.event_type": "easyloop.a.v1"}
        ),
    ]
    platform.on("GET /v1/runs/run_1/trace", {"run_id": "run_1", "trace_id": "t", "spans": spans})
    assert call(platform, "trace", "show", "run_1").output.splitlines() == [
        "gateway: POST /v1/datasets  1.5 s",
        "  registry: process gateway.requests (a.v1)  3.0 s",
        "    hpo: job study  4.5 s  FAILED study_failed",
    ]


def test_an_unknown_thing_is_one_sentence_and_status_1(platform: FakePlatform) -> None:
    platform.on("GET /v1/runs/run_9", a_problem(404, "run_unknown", "There is no run run_9; see the list."))
    result = call(platform, "run", "show", "run_9")
    assert (result.exit_code, result.output.strip()) == (1, "There is no run run_9; see the list.")


def test_publishing_and_cancelling(platform: FakePlatform) -> None:
    platform.on("PUT /v1/models/mdl_1/aliases/production", {})
    platform.on("POST /v1/runs/run_1/cancel", RUN)
    assert "moves to version 1" in call(platform, "model", "publish", "mdl_1", "1", "--reason", "better").output
    assert "is being cancelled" in call(platform, "run", "cancel", "run_1").output
