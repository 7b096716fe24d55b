"""Prints each training run that ended and each new model version, as it happens.

    pip install "kafka-python[crc32c]>=3"
    python consumer.py --bootstrap 127.0.0.1:9092

It uses nothing of EasyLoop's code: copy it and change `tell`.
"""

import argparse
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from kafka import KafkaConsumer

RUN_ENDED = "easyloop.run.ended.v1"
VERSION_REGISTERED = "easyloop.model.version.registered.v1"


def main() -> None:
    """Until it is interrupted, or until --count events were told."""
    options = parse_options()
    memory = open_memory(options.memory)
    consumer = KafkaConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap.split(","),
        # Consumers with one group name share the work; Kafka keeps for the group how far it has come.
        group_id=options.group,
        # A group that is new starts with the oldest event that the bus still has (30 days).
        auto_offset_reset="earliest",
        # We say ourselves how far we are, after the work. Otherwise a crash could skip events.
        enable_auto_commit=False,
        # How soon the others of the group take over when this one dies.
        session_timeout_ms=10_000,
        heartbeat_interval_ms=3_000,
    )
    told = 0
    try:
        while told < options.count or not options.count:
            for records in consumer.poll(timeout_ms=1_000).values():
                told += sum(handle(record, memory) for record in records)
            # Only now the batch is done. A crash before this line delivers it again: "at least once".
            consumer.commit()
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


def handle(record: Any, memory: sqlite3.Connection) -> bool:
    """Tell of one event, unless it came before or is none of ours; whether it did."""
    # The attributes of an event are headers named ce_..., its data is the JSON value (CloudEvents, binary mode).
    attributes = {name: value.decode() for name, value in record.headers}
    kind, event_id = attributes.get("ce_type"), attributes.get("ce_id")
    # Types that we do not know are skipped: new ones may be added at any time.
    if kind not in (RUN_ENDED, VERSION_REGISTERED):
        return False
    # Seen ids and what you do about an event belong into one transaction of your database. Then an event that is
    # delivered again changes nothing, and one whose work failed was never seen.
    with memory:
        is_new = memory.execute("INSERT OR IGNORE INTO seen (event_id) VALUES (?)", (event_id,)).rowcount == 1
        if is_new:
            tell(kind, json.loads(record.value))
    return is_new


def tell(kind: str, data: dict[str, Any]) -> None:
    """Put your own work here. Fields that you do not know may appear in `data`: ignore them."""
    if kind == VERSION_REGISTERED:
        figures = ", ".join(f"{name} {value:.3f}" for name, value in sorted(data["metrics"].items()))
        say(f"model {data['model_id']} has version {data['version']} ({figures})")
    elif data["state"] == "succeeded":
        say(f"run {data['run_id']} succeeded: version {data['model_version']} of model {data['model_id']}")
    elif data["state"] == "failed":
        say(f"run {data['run_id']} failed: {data['failure']['sentence']}")
    else:
        say(f"run {data['run_id']} was cancelled")


def say(line: str) -> None:
    """At once, also into a pipe."""
    print(line, flush=True)


def open_memory(path: str) -> sqlite3.Connection:
    """The ids of events that were handled. It has to outlive this program."""
    memory = sqlite3.connect(path)
    memory.execute("CREATE TABLE IF NOT EXISTS seen (event_id TEXT PRIMARY KEY)")
    return memory


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description="Prints ended runs and new model versions.")
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", help="host:port of the brokers, separated by commas")
    parser.add_argument("--topic", default="registry.events", help="where the registry says what it did")
    parser.add_argument("--group", default="my-consumer", help="name of the consumer group")
    parser.add_argument("--memory", default="seen.sqlite", help="file that remembers the ids of handled events")
    parser.add_argument("--count", type=int, default=0, help="end after so many events; 0 goes on for ever")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
