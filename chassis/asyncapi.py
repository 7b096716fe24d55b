"""Writes the AsyncAPI 3.0 document of the bus: `python -m chassis.asyncapi`.

Channels and operations come from schemas/topics.yaml, messages from the event classes. Payloads are AsyncAPI schema
objects, a superset of JSON Schema draft-07, which every AsyncAPI tool has to know.
"""

import inspect
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

import schemas
from chassis.topics import Topic, load_topics
from schemas.base import Event
from schemas.catalog import EVENTS

FOLDER = Path(inspect.getfile(schemas)).parent
FILE = FOLDER / "asyncapi.json"
KAFKA_BINDING = "0.5.0"
_DAY_MS = 86_400_000

Json = dict[str, Any]

INTRODUCTION = (
    "Every event of EasyLoop is a CloudEvents 1.0 message in Kafka's binary mode: attributes are headers, the data is "
    "the JSON value, the key is the id of the aggregate, and order is kept within a key. Delivery is at least once: "
    "remember the ce_id of what you have handled. Ignore fields and types that you do not know; a changed shape comes "
    "as a new type ending in the next .vN. Each channel has one writer; anybody may read, in a consumer group of "
    "their own."
)


def document() -> Json:
    """The whole of it."""
    topics = load_topics().topics
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "EasyLoop",
            "version": version("easyloop"),
            "description": INTRODUCTION,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": _server()},
        "channels": {topic.name: _channel(topic) for topic in topics},
        "operations": dict(_operations(topics)),
        "components": _components(),
    }


def text_of(content: Json) -> str:
    """As committed."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def stale() -> bool:
    """Whether the committed document is missing or says something else."""
    return not FILE.exists() or FILE.read_text() != text_of(document())


def main() -> int:
    """Write it."""
    FILE.write_text(text_of(document()))
    return 0


def _server() -> Json:
    return {
        "host": "{bootstrap}",
        "protocol": "kafka",
        "description": "The brokers of an installation.",
        "variables": {
            "bootstrap": {"default": "127.0.0.1:9092", "description": "host:port, as EASYLOOP_KAFKA_BOOTSTRAP_SERVERS"}
        },
    }


def _channel(topic: Topic) -> Json:
    return {
        "address": topic.name,
        "description": f"Written by {topic.writer} alone. Key: {topic.key}.",
        "servers": [{"$ref": "#/servers/kafka"}],
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in topic.events},
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "partitions": topic.partitions,
                "topicConfiguration": {
                    "cleanup.policy": ["delete"],
                    "retention.ms": topic.retention_days * _DAY_MS,
                },
                "bindingVersion": KAFKA_BINDING,
            }
        },
    }


def _operations(topics: Iterable[Topic]) -> Iterable[tuple[str, Json]]:
    """What each service sends and receives, seen from the service; its name is the tag."""
    for topic in topics:
        yield f"{topic.writer}.send.{topic.name}", _operation("send", topic.writer, topic)
        for service in topic.consumers:
            yield f"{service}.receive.{topic.name}", _operation("receive", service, topic)


def _operation(action: str, service: str, topic: Topic) -> Json:
    operation: Json = {
        "action": action,
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "summary": f"{service} {'publishes to' if action == 'send' else 'reads'} {topic.name}",
        "tags": [{"name": service}],
        "messages": [{"$ref": f"#/channels/{topic.name}/messages/{name}"} for name in topic.events],
    }
    if action == "receive":
        group = {"type": "string", "const": service}
        operation["bindings"] = {"kafka": {"groupId": group, "bindingVersion": KAFKA_BINDING}}
    return operation


def _components() -> Json:
    payloads, shared = models_json_schema(
        [(event, "serialization") for event in EVENTS.values()], ref_template="#/components/schemas/{model}"
    )
    return {
        "schemas": {"CloudEventHeaders": _headers(), **shared["$defs"]},
        "messages": {name: _message(event, payloads[event, "serialization"]) for name, event in sorted(EVENTS.items())},
        "correlationIds": {
            "trace": {
                "description": "W3C trace context: one trace id for all that follows from one upload or request.",
                "location": "$message.header#/traceparent",
            }
        },
    }


def _message(event: type[Event], payload: Json) -> Json:
    example = json.loads((FOLDER / "examples" / f"{event.TYPE}.json").read_text())
    only_this_type = {"type": "object", "properties": {"ce_type": {"const": event.TYPE}}}
    return {
        "name": event.TYPE,
        "title": event.__name__,
        "summary": inspect.cleandoc(event.__doc__ or "").split("\n\n")[0],
        "contentType": "application/json",
        "correlationId": {"$ref": "#/components/correlationIds/trace"},
        "headers": {"allOf": [{"$ref": "#/components/schemas/CloudEventHeaders"}, only_this_type]},
        "payload": payload,
        "bindings": {
            "kafka": {
                "key": {"type": "string", "description": f"`{event.KEY}` of the event; UTF-8"},
                "bindingVersion": KAFKA_BINDING,
            }
        },
        "examples": [{"payload": example}],
    }


def _headers() -> Json:
    """Source: CloudEvents Kafka protocol binding 1.0.2, section 3.2; `rev` is our extension."""
    described = {
        "ce_id": "Unique for each event; the same when it is delivered again.",
        "ce_source": "The service that wrote it, such as /easyloop/registry.",
        "ce_specversion": "1.0",
        "ce_type": "The name of the message.",
        "ce_subject": "The key again.",
        "ce_time": "When it was emitted: RFC 3339, UTC, milliseconds.",
        "ce_partitionkey": "The key again.",
        "ce_rev": "Decimal number that rises by one with each event of one key and one writer.",
    }
    trace = {"traceparent": "W3C trace context; absent when the event belongs to no trace."}
    return {
        "type": "object",
        "description": "CloudEvents attributes in Kafka's binary mode. Header values are UTF-8 text.",
        "properties": {name: {"type": "string", "description": text} for name, text in {**described, **trace}.items()},
        "required": list(described),
    }


if __name__ == "__main__":
    sys.exit(main())
