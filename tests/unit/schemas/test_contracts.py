"""Contracts are data: every event has a schema and an example, every topic a writer and readers that mean it."""

import json
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest

from chassis.deps import Handlers
from chassis.topics import Topic, load_topics
from schemas import generate
from schemas.base import Event
from schemas.catalog import EVENTS
from schemas.dataset import DatasetVersionReady

SERVICES = ("ingest", "preprocess", "hpo", "trainer", "evaluator", "registry", "gateway")
TOPICS = load_topics().topics
EXAMPLES = Path(generate.__file__).parent / "examples"
DEAD_LETTER = "easyloop.event.deadlettered.v1"


def handlers_of(service: str) -> Handlers:
    handlers: Handlers = import_module(f"services.{service}.handlers").HANDLERS
    return handlers


def test_committed_schemas_are_what_the_models_say() -> None:
    assert generate.stale() == [], "run `make schemas` and commit what it writes"


def test_no_published_event_changes_incompatibly() -> None:
    assert generate.broken() == []


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_has_an_example_that_its_schema_accepts(name: str) -> None:
    example = json.loads((EXAMPLES / f"{name}.json").read_text())
    jsonschema.validate(example, generate.schema_of(EVENTS[name]))
    assert EVENTS[name].model_validate(example).model_dump(mode="json", exclude_unset=True) == example


def test_readers_ignore_fields_that_they_do_not_know() -> None:
    example = json.loads((EXAMPLES / f"{DatasetVersionReady.TYPE}.json").read_text())
    assert "novelty" not in DatasetVersionReady.model_validate({**example, "novelty": 1}).model_dump()


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_is_published_on_one_topic_a_writer(name: str) -> None:
    writers = [topic.writer for topic in TOPICS if name in topic.events]
    assert writers
    assert name == DEAD_LETTER or len(writers) == 1


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_topic_names_services_and_events_that_exist(topic: Topic) -> None:
    assert topic.writer in SERVICES
    assert topic.consumers
    assert set(topic.consumers) <= set(SERVICES)
    assert set(topic.events) <= EVENTS.keys()


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_consumer_named_handles_something_of_the_topic(topic: Topic) -> None:
    for service in topic.consumers:
        handled = {event.TYPE for event in handlers_of(service)}
        assert handled & set(topic.events), f"{service} is named as a consumer of {topic.name} but handles none of it"


@pytest.mark.parametrize("service", SERVICES)
def test_every_handled_event_comes_on_a_topic_that_names_the_service(service: str) -> None:
    carried = {event for topic in load_topics().read_by(service) for event in topic.events}
    assert {event.TYPE for event in handlers_of(service)} <= carried


class _Before(Event):
    TYPE = "easyloop.thing.done.v1"
    size: int
    note: str = ""


class _WithoutNote(Event):
    TYPE = "easyloop.thing.done.v1"
    size: int


class _SizeAsText(Event):
    TYPE = "easyloop.thing.done.v1"
    size: str
    note: str = ""


class _Demanding(_Before):
    extra: int


class _Generous(_Before):
    extra: int = 0


@pytest.mark.parametrize("after", [_WithoutNote, _SizeAsText, _Demanding])
def test_a_breaking_change_is_found(after: type[Event]) -> None:
    assert generate.incompatibilities(generate.schema_of(_Before), generate.schema_of(after))


def test_a_new_optional_field_breaks_nobody() -> None:
    assert generate.incompatibilities(generate.schema_of(_Before), generate.schema_of(_Generous)) == []
