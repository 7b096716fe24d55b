"""What is asked of the bus itself: its topics, its identity, whether it is there."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import kafka
from kafka.admin import OffsetSpec
from kafka.errors import TopicAlreadyExistsError, for_code

from chassis.bus.kafka_connection import check_reachable, connection_settings, translated
from chassis.bus.ports import Place
from chassis.bus.topic_upkeep import creation_options, raise_existing
from chassis.topics import TopicCatalog

log = logging.getLogger(__name__)

T = TypeVar("T")

CLIENT_ID = "easyloop-admin"


async def create_topics(bootstrap: str, catalog: TopicCatalog, *, replication_factor: int = 1) -> list[str]:
    """Make the topics that are not there; which those were. Existing ones get what they lack: see `raise_existing`.

    Raises ServerUnavailable, also when the brokers refuse (too few of them for the factor, say).
    """

    def create(admin: Any) -> list[str]:
        existing = set(admin.list_topics())
        missing = {
            topic.name: creation_options(topic, replication_factor)
            for topic in catalog.topics
            if topic.name not in existing
        }
        if missing:
            answer = admin.create_topics(missing, raise_errors=False, wait_for_metadata=False)
            _check(answer["topics"])
            admin.wait_for_topics(list(missing))
        raise_existing(admin, [topic for topic in catalog.topics if topic.name in existing])
        return sorted(missing)

    return await _ask(bootstrap, create)


async def end_offsets(bootstrap: str, topics: Collection[str]) -> dict[Place, int]:
    """The offset that comes next in each partition of the topics that are there. Raises ServerUnavailable."""

    return await _ask(bootstrap, lambda admin: _ends(admin, topics))


async def partitions(bootstrap: str) -> dict[str, int]:
    """How many partitions each topic has. Raises ServerUnavailable."""

    def count(admin: Any) -> dict[str, int]:
        return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}

    return await _ask(bootstrap, count)


async def lags(bootstrap: str, groups: Mapping[str, Collection[str]]) -> dict[str, int | None]:
    """Of each group, with its topics, the records that it has not committed. Raises ServerUnavailable."""

    def behind(admin: Any) -> dict[str, int | None]:
        ends = _ends(admin, {topic for topics in groups.values() for topic in topics})
        committed = {
            (group, place.topic, place.partition): offset.offset
            for group, offsets in admin.list_group_offsets(dict.fromkeys(groups)).items()
            for place, offset in offsets.items()
        }
        return {
            group: sum(
                end - max(0, committed.get((group, topic, partition), 0))
                for (topic, partition), end in ends.items()
                if topic in topics
            )
            for group, topics in groups.items()
        }

    return await _ask(bootstrap, behind)


def _ends(admin: Any, topics: Collection[str]) -> dict[Place, int]:
    there = set(admin.list_topics()) & set(topics)
    places = {
        kafka.TopicPartition(topic["name"], partition["partition_index"]): OffsetSpec.LATEST
        for topic in (admin.describe_topics(sorted(there)) if there else ())
        for partition in topic["partitions"]
    }
    found = admin.list_partition_offsets(places) if places else {}
    return {(place.topic, place.partition): answer.offset for place, answer in found.items()}


async def cluster_id(bootstrap: str) -> str:
    """The identity of the cluster: another one means that everything on the bus is gone. Raises ServerUnavailable."""
    return await _ask(bootstrap, lambda admin: str(admin.describe_cluster()["cluster_id"]))


async def ping(bootstrap: str) -> None:
    """Raises ServerUnavailable unless a broker answers a request."""
    await cluster_id(bootstrap)


async def _ask(bootstrap: str, question: Callable[[Any], T]) -> T:
    def ask() -> T:
        with _admin(bootstrap) as admin:
            return question(admin)

    return await asyncio.to_thread(ask)


@contextmanager
def _admin(bootstrap: str) -> Iterator[Any]:
    with translated():
        check_reachable(bootstrap)
        admin = kafka.KafkaAdminClient(**connection_settings(bootstrap, CLIENT_ID))
        try:
            yield admin
        finally:
            admin.close()


def _check(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        error = for_code(answer["error_code"])
        if answer["error_code"] and error is not TopicAlreadyExistsError:  # somebody else made it meanwhile
            raise error(f"{answer['name']}: {answer.get('error_message')}")
