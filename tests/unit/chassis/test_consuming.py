"""Offsets are committed after the effect, and a server that is away loses nothing and repeats nothing."""

from dataclasses import dataclass, field

from chassis.bus.fake import FakeBus, FakeConsumer, FakeProducer
from chassis.bus.ports import Message
from chassis.consuming import ConsumerLoop
from chassis.deps import Deps
from chassis.errors import ServerUnavailable
from schemas.requests import DatasetRequested
from tests.builders import build_deps, dispatcher, record_of

TOPIC = "gateway.requests"


@dataclass
class Shelf:
    """A handler that needs a server; it is away for the named events until they are taken off the list."""

    away_for: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    async def handle(self, event: DatasetRequested, deps: Deps) -> None:
        if event.name in self.away_for:
            raise ServerUnavailable("s3_unavailable", "away")
        self.seen.append(event.name)


async def a_bus(*names: str) -> FakeBus:
    bus = FakeBus(partitions=1)
    producer = FakeProducer(bus)
    for name in names:
        record = record_of(DatasetRequested(dataset_id="ds_1", name=name, task="image_classification"))
        await producer.send_all([Message(TOPIC, record.key or b"", record.value or b"", record.headers)])
    return bus


def loop_of(bus: FakeBus, shelf: Shelf) -> ConsumerLoop:
    deps = build_deps("ingest")
    return ConsumerLoop(FakeConsumer(bus, "ingest", [TOPIC]), dispatcher(deps, {DatasetRequested: shelf.handle}))


async def test_a_record_is_delivered_again_once_its_server_answers(no_pause: None) -> None:
    shelf = Shelf(away_for=["b"])
    loop = loop_of(await a_bus("a", "b", "c"), shelf)
    await loop.turn()
    assert shelf.seen == ["a"]
    shelf.away_for.clear()
    await loop.turn()
    assert shelf.seen == ["a", "b", "c"]


async def test_nothing_is_committed_before_its_effect(no_pause: None) -> None:
    bus, shelf = await a_bus("a", "b"), Shelf(away_for=["b"])
    dying = loop_of(bus, shelf)
    await dying.turn()
    await dying.consumer.close()
    assert not any(bus.committed.get("ingest", {}).values())
    heir = Shelf()
    await loop_of(bus, heir).turn()
    assert heir.seen == ["a", "b"]
