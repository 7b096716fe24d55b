"""An integrator's consumer, run as they run it, sees what the registry sends, each event once."""

import subprocess
import sys
import uuid
from pathlib import Path

from chassis.bus.admin import create_topics
from chassis.bus.cloudevents import encode
from chassis.bus.kafka_producer import KafkaProducer
from chassis.bus.ports import Message
from chassis.topics import Topic, TopicCatalog
from infra.local.layout import REPOSITORY
from schemas.base import BlobRef, Event, Failure
from schemas.run import ModelVersionRegistered, RunEnded, RunStageChanged
from tests.servers import LocalServers

PATIENCE_S = 60

BLOB = BlobRef(key="projects/prj_default/sha256/00/00/0", size=1, sha256="0" * 64)
STAGE = RunStageChanged(run_id="run_1", previous="evaluating", state="registering")
REGISTERED = ModelVersionRegistered(
    model_id="mdl_1", version=3, run_id="run_1", bundle=BLOB, report=BLOB, metrics={"accuracy": 0.9375}
)
SUCCEEDED = RunEnded(run_id="run_1", dataset_id="ds_1", state="succeeded", model_id="mdl_1", model_version=3)
FAILED = RunEnded(
    run_id="run_2",
    dataset_id="ds_1",
    state="failed",
    model_id="mdl_1",
    failure=Failure(code="too_few_samples", sentence="class good has 1 photograph; add at least 4"),
)
REGISTERED_LINE = "model mdl_1 has version 3 (accuracy 0.938)"
SUCCEEDED_LINE = "run run_1 succeeded: version 3 of model mdl_1"
FAILED_LINE = "run run_2 failed: class good has 1 photograph; add at least 4"


def as_sent(topic: str, event_id: str, event: Event, rev: int) -> Message:
    key, value, headers = encode(
        event,
        event_id=event_id,
        source="/easyloop/registry",
        time="2026-11-30T12:00:00.000Z",
        rev=rev,
        traceparent=None,
    )
    return Message(topic, key, value, headers)


def lines_of(servers: LocalServers, topic: str, group: str, memory: Path, count: int) -> list[str]:
    """What the program prints until it told of `count` events."""
    program = [sys.executable, str(REPOSITORY / "examples" / "consumer.py"), "--bootstrap", servers.kafka]
    answer = subprocess.run(
        [*program, "--topic", topic, "--group", group, "--memory", str(memory), "--count", str(count)],
        cwd=memory.parent,
        env={"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


async def test_ended_runs_and_new_versions_are_told_once_however_often_delivered(
    local_servers: LocalServers, tmp_path: Path
) -> None:
    topic = f"registry.{uuid.uuid4().hex}"
    await create_topics(local_servers.kafka, TopicCatalog((Topic(topic, "registry", "id", 4, 1, (), ()),)))
    producer = KafkaProducer(local_servers.kafka, "registry")
    memory = tmp_path / "seen.sqlite"
    ended = as_sent(topic, "e3", SUCCEEDED, 2)
    try:
        await producer.send_all(
            [as_sent(topic, "e1", STAGE, 1), as_sent(topic, "e2", REGISTERED, 1), ended, ended],
        )
        assert sorted(lines_of(local_servers, topic, topic, memory, 2)) == [REGISTERED_LINE, SUCCEEDED_LINE]
        # Another group begins at the oldest event: all of it is delivered once more, only the new one is told.
        await producer.send_all([as_sent(topic, "e4", FAILED, 1)])
        assert lines_of(local_servers, topic, f"{topic}.again", memory, 1) == [FAILED_LINE]
    finally:
        await producer.close()
