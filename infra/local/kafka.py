"""One Apache Kafka broker (KRaft, broker and controller in one process) with a small footprint."""

import base64
import os
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from chassis.bus.ports import BusKind
from infra.local.atomic_file import write_atomically
from infra.local.bus_runtime import BUS, BusPlace
from infra.local.errors import StackError
from infra.local.java import Java
from infra.local.log_tail import log_tail
from infra.local.ports import LOOPBACK
from infra.local.program import Program

LOG_SETTINGS = Path(__file__).parent.parent / "kafka" / "log4j2.xml"

# Measured: the serial collector and the first compiler tier alone start the broker in three quarters of the
# time that the defaults take, and 320 MB of heap is several times what it uses.
JVM_OPTIONS = ("-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
FORMAT_SECONDS = 60


@dataclass(frozen=True)
class KafkaRuntime:
    """What runs a broker: Java, the jars, and the archive of parsed classes that halves the start (or None).

    The JVM takes an archive only for the very class path, in order, that it was made with.
    """

    kind: ClassVar[BusKind] = "kafka"

    java: Java
    jars: tuple[Path, ...]
    class_archive: Path | None = None

    @property
    def class_path(self) -> str:
        """The jars as the JVM's -cp option wants them."""
        return os.pathsep.join(str(jar) for jar in self.jars)

    def command(self, main_class: str, *arguments: str, jvm_options: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The command that runs a class of the broker."""
        # -Xshare:auto goes on without the archive when it does not fit.
        archive = (f"-XX:SharedArchiveFile={self.class_archive}", "-Xshare:auto") if self.class_archive else ()
        options = (*JVM_OPTIONS, *archive, *jvm_options, f"-Dlog4j2.configurationFile={LOG_SETTINGS}")
        return (self.java.executable, *options, "-cp", self.class_path, main_class, *arguments)

    def prepare(self, place: BusPlace) -> Program:
        """See BusRuntime."""
        write_atomically(properties_file(place), server_properties(place))
        command = self.command("kafka.Kafka", str(properties_file(place)))
        return Program(name=BUS, command=command, directory=place.folder, port=place.port)

    def format(self, place: BusPlace) -> None:
        """See BusRuntime; takes 1 to 2 s."""
        if (log_folder(place) / "meta.properties").exists():
            return
        arguments = ("format", "--standalone", "-t", _cluster_id(), "-c", str(properties_file(place)))
        log = place.folder / "format.log"
        with log.open("w", encoding="utf-8") as output:
            answer = subprocess.run(
                self.command("kafka.tools.StorageTool", *arguments),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=FORMAT_SECONDS,
                check=False,
            )
        if answer.returncode:
            reason = f"Kafka's log folder {log_folder(place)} could not be formatted"
            raise StackError(BUS, reason, "see the lines below", log_tail(log))


def log_folder(place: BusPlace) -> Path:
    """The folder that the broker formats and writes."""
    return place.folder / "log"


def properties_file(place: BusPlace) -> Path:
    """The settings, written anew at each start."""
    return place.folder / "server.properties"


def server_properties(place: BusPlace) -> str:
    """The broker's settings. Topics are never made by accident; internal topics fit one node."""
    broker, controller = f"{LOOPBACK}:{place.port}", f"{LOOPBACK}:{place.controller_port}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": controller,
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(log_folder(place)),
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "2",
        "num.network.threads": "2",
        "num.io.threads": "4",
        # The default, 128 MB, would be taken from the heap at start.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _cluster_id() -> str:
    # Kafka writes ids as 16 random bytes in base64; one that starts with a dash would be read as an option.
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
