"""schemas/topics.yaml as values."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import yaml

from schemas.base import Event
from schemas.deadletter import EventDeadLettered


@dataclass(frozen=True)
class Topic:
    """One entry of topics.yaml."""

    name: str
    writer: str
    key: str
    partitions: int
    retention_days: int
    events: tuple[str, ...]
    consumers: tuple[str, ...]


@dataclass(frozen=True)
class TopicCatalog:
    """Who writes what where, and who reads it."""

    topics: tuple[Topic, ...]

    def topic_of(self, event: Event, writer: str) -> str:
        """The topic on which `writer` publishes the event. Raises LookupError: one writer a topic."""
        if isinstance(event, EventDeadLettered):
            return f"{writer}.deadletters"
        try:
            return self._by_event_and_writer[event.TYPE, writer]
        except KeyError:
            raise LookupError(
                f"{writer} may not publish {event.TYPE}: topics.yaml names no topic of its for it"
            ) from None

    def read_by(self, service: str) -> tuple[Topic, ...]:
        """The topics whose consumers include the service."""
        return tuple(topic for topic in self.topics if service in topic.consumers)

    def written_by(self, service: str) -> tuple[Topic, ...]:
        """The topics of which the service is the writer."""
        return tuple(topic for topic in self.topics if topic.writer == service)

    @cached_property
    def _by_event_and_writer(self) -> dict[tuple[str, str], str]:
        return {(event, topic.writer): topic.name for topic in self.topics for event in topic.events}


def load_topics() -> TopicCatalog:
    """Read the file that the schemas package ships."""
    parsed: dict[str, dict[str, Any]] = yaml.safe_load(files("schemas").joinpath("topics.yaml").read_text())["topics"]
    return TopicCatalog(
        tuple(
            Topic(
                name=name,
                writer=entry["writer"],
                key=entry["key"],
                partitions=entry["partitions"],
                retention_days=entry["retention_days"],
                events=tuple(entry["events"]),
                consumers=tuple(entry["consumers"]),
            )
            for name, entry in parsed.items()
        )
    )
