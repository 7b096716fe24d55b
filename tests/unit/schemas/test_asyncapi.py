"""The AsyncAPI document is what topics.yaml and the event classes say, and whole: every reference leads somewhere."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from chassis import asyncapi
from chassis.bus.cloudevents import encode
from chassis.topics import Topic, load_topics
from schemas.catalog import EVENTS

DOCUMENT = asyncapi.document()
TOPICS = load_topics().topics


def followed(reference: str) -> Any:
    """What a reference within the document leads to; KeyError when it leads nowhere."""
    found: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(target := part.get("$ref"), str):
            yield target
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def with_components(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to beside it, as a validator of JSON Schema wants it."""
    return {**schema, "components": DOCUMENT["components"]}


def test_the_committed_document_is_what_the_code_says() -> None:
    assert not asyncapi.stale(), "run `make schemas` and commit what it writes"


def test_it_has_the_parts_that_asyncapi_3_demands() -> None:
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= DOCUMENT["info"].keys()
    assert {"host", "protocol"} <= DOCUMENT["servers"]["kafka"].keys()


def test_every_reference_leads_somewhere() -> None:
    found = set(references(DOCUMENT))
    assert found
    for reference in found:
        assert followed(reference)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_topic_is_a_channel_with_its_messages_and_its_kafka_binding(topic: Topic) -> None:
    channel = DOCUMENT["channels"][topic.name]
    assert channel["address"] == topic.name
    assert set(channel["messages"]) == set(topic.events)
    kafka = channel["bindings"]["kafka"]
    assert (kafka["partitions"], kafka["topicConfiguration"]["retention.ms"]) == (
        topic.partitions,
        topic.retention_days * 24 * 3600 * 1000,
    )


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_its_writer_sends_and_each_consumer_receives(topic: Topic) -> None:
    mine = {
        (operation["action"], operation["tags"][0]["name"])
        for operation in DOCUMENT["operations"].values()
        if operation["channel"]["$ref"] == f"#/channels/{topic.name}"
    }
    assert mine == {("send", topic.writer)} | {("receive", service) for service in topic.consumers}


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_message_has_payload_headers_correlation_and_an_example_that_fits(name: str) -> None:
    message = DOCUMENT["components"]["messages"][name]
    assert message["payload"]["$ref"] == f"#/components/schemas/{EVENTS[name].__name__}"
    assert followed(message["correlationId"]["$ref"])["location"] == "$message.header#/traceparent"
    for example in message["examples"]:
        jsonschema.Draft7Validator(with_components(message["payload"])).validate(example["payload"])


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_the_headers_described_are_those_that_are_sent(name: str) -> None:
    example = json.loads((asyncapi.FOLDER / "examples" / f"{name}.json").read_text())
    _, _, headers = encode(
        EVENTS[name].model_validate(example),
        event_id="evt_1",
        source="/easyloop/registry",
        time="2026-11-30T12:00:00.000Z",
        rev=1,
        traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01",
    )
    sent = {key: value.decode() for key, value in headers if key != "content-type"}  # that one is `contentType`
    assert sent.keys() == DOCUMENT["components"]["schemas"]["CloudEventHeaders"]["properties"].keys()
    schema = with_components(DOCUMENT["components"]["messages"][name]["headers"])
    jsonschema.Draft7Validator(schema).validate(sent)
