"""How a topic is made, and how one that is there gets what topics.yaml has come to say."""

import logging
from collections.abc import Sequence
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import IncompatibleBrokerVersion

from chassis.topics import Topic

log = logging.getLogger(__name__)

RETENTION = "retention.ms"
_DAY_MS = 86_400_000


def creation_options(topic: Topic, replication_factor: int) -> dict[str, Any]:
    """As kafka-python's create_topics wants them."""
    return {
        "num_partitions": topic.partitions,
        "replication_factor": replication_factor,
        "configs": {RETENTION: str(_retention_ms(topic)), "cleanup.policy": "delete"},
    }


def raise_existing(admin: Any, topics: Sequence[Topic]) -> None:
    """More partitions and longer retention where a topic has less than it should; what has more stays as it is.

    A broker that cannot change its topics is reported in the log: nothing depends on either figure. New partitions
    take over keys, so that for what is under way the order per key holds within the old ones and within the new.
    """
    if not topics:
        return
    try:
        _raise_partitions(admin, topics)
        _raise_retention(admin, topics)
    except IncompatibleBrokerVersion as error:
        log.warning("the topics stay as they are, since this bus cannot change them (%s)", error)


def _raise_partitions(admin: Any, topics: Sequence[Topic]) -> None:
    found = {each["name"]: len(each["partitions"]) for each in admin.describe_topics([topic.name for topic in topics])}
    wanted = {topic.name: topic.partitions for topic in topics if found[topic.name] < topic.partitions}
    if wanted:
        admin.create_partitions(wanted)
        log.warning("topics got more partitions: %s", wanted)


def _raise_retention(admin: Any, topics: Sequence[Topic]) -> None:
    # All settings of each: Tansu ends the connection when it is asked for one by name.
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics]
    found = admin.describe_configs(resources, config_filter="all")["topic"]
    short = [topic for topic in topics if 0 <= _found_ms(found.get(topic.name, {})) < _retention_ms(topic)]
    if short:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, each.name, {RETENTION: str(_retention_ms(each))})
                for each in short
            ]
        )
        log.warning("topics keep their messages longer: %s", {each.name: f"{each.retention_days} d" for each in short})


def _found_ms(configs: dict[str, Any]) -> int:
    """-1 where messages are kept for ever, or where the broker does not say."""
    entry = configs.get(RETENTION)
    value = entry["value"] if isinstance(entry, dict) else entry
    return -1 if value is None else int(value)


def _retention_ms(topic: Topic) -> int:
    return topic.retention_days * _DAY_MS
