"""From an upload to a served model, by events alone, through real servers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from chassis.topics import load_topics
from easyloop.answers import Run, Span
from easyloop.client import Client
from easyloop.errors import EasyLoopError
from easyloop.trace_tree import Node, build
from tests.e2e.conftest import Archives, client_of
from tests.e2e.walk import accuracy, served_version, start_automatic_run
from tests.servers import LocalStack

SERVICES = {"gateway", "ingest", "preprocess", "registry", "hpo", "trainer", "evaluator"}
HOPS = {
    ("gateway.requests", "ingest"),
    ("ingest.events", "preprocess"),
    ("preprocess.events", "registry"),
    ("registry.events", "hpo"),
    ("hpo.events", "trainer"),
    ("hpo.events", "registry"),
    ("trainer.events", "evaluator"),
    ("evaluator.events", "registry"),
    ("registry.events", "gateway"),
}


@pytest.fixture(scope="module")
def run(stack: LocalStack, archives: Archives) -> Run:
    """A run that followed from an upload, once what it made is served."""
    with client_of(stack) as client:
        started = start_automatic_run(client, archives.training, "surfaces")
        served_version(client, started)
        return client.run(started.id)


def test_an_upload_becomes_a_served_model_that_is_right(client: Client, run: Run, archives: Archives) -> None:
    assert run.trigger == "auto"
    assert run.model_version == 1
    assert run.model_id is not None
    assert accuracy(client, run.model_id, archives.held_out) >= 0.95


def test_the_report_is_about_samples_that_no_training_saw(client: Client, run: Run) -> None:
    assert run.model_id is not None
    report = client.report(run.model_id, 1)
    held_out = client.version(run.dataset_id, run.version).split_counts["test"]
    assert sum(sum(row) for row in report["confusion"]["matrix"]) == held_out > 0


def test_the_run_is_one_tree_with_every_service_and_every_hop(client: Client, run: Run) -> None:
    nodes = _until_whole(lambda: client.trace(run.id), client.pause)
    (root,) = nodes
    assert root.span.service == "gateway"
    assert root.span.name.startswith("POST /v1/datasets/{dataset_id}/imports")
    assert {span.service for span in _all_spans(nodes)} == SERVICES
    assert _hops(nodes) >= HOPS


def test_a_second_run_is_rescored_against_the_first(client: Client, run: Run) -> None:
    again = client.start_run(run.dataset_id, version=run.version)
    ended = client.wait_for_run(again.id)
    assert ended.state == "succeeded", ended.failure
    assert ended.model_version == 2
    (evaluated,) = [e for e in client.run_events(again.id) if e.type == "easyloop.model.evaluated.v1"]
    assert evaluated.data["baseline_version"] == 1
    assert evaluated.data["baseline_metrics"].keys() == evaluated.data["metrics"].keys()


def test_rolling_back_is_one_call_and_the_gateway_follows(client: Client, run: Run) -> None:
    assert run.model_id is not None
    client.publish(run.model_id, 1, reason="back to the first")
    client.wait_until_served(run.model_id, 1)


def test_an_archive_that_is_none_is_refused_with_its_reason(client: Client, tmp_path: Path) -> None:
    odd = tmp_path / "notes.zip"
    odd.write_text("this is no archive")
    dataset = client.create_dataset("notes")
    with pytest.raises(EasyLoopError, match=r"notes\.zip"):
        client.wait_for_version(dataset.id, client.upload(dataset.id, odd).id)


def test_every_topic_of_the_catalog_exists_on_the_bus(stack: LocalStack) -> None:
    import kafka

    admin = kafka.KafkaAdminClient(bootstrap_servers=stack.addresses["kafka"])
    try:
        assert {topic.name for topic in load_topics().topics} <= set(admin.list_topics())
    finally:
        admin.close()


def _until_whole(spans: Callable[[], list[Span]], pause: Callable[[], None]) -> Sequence[Node]:
    """Spans are written with a delay; the test's own time limit ends a wait in vain."""
    while True:
        nodes = build(spans())
        if len(nodes) == 1 and _hops(nodes) >= HOPS:
            return nodes
        pause()


def _all_spans(nodes: Sequence[Node]) -> list[Span]:
    return [span for node in nodes for span in (node.span, *_all_spans(node.children))]


def _hops(nodes: Sequence[Node]) -> set[tuple[str, str]]:
    """Topic and consumer of each process span that is the child of a send span of the same topic."""
    found = set()
    for node in nodes:
        topic = node.span.name.removeprefix("send ")
        for child in node.children:
            if node.span.name != topic and child.span.name == f"process {topic}":
                found.add((topic, child.span.service))
        found |= _hops(node.children)
    return found
