"""An archive of the broker's parsed classes (Java's CDS), which halves its start; made once per Java and jars."""

import hashlib
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import platformdirs

from infra.local.bus_runtime import BusPlace
from infra.local.kafka import KafkaRuntime
from infra.local.ports import LOOPBACK, choose_ports
from infra.local.readiness import NotReadyError, check_kafka, wait_until_ready

START_SECONDS = 60
WRITE_SECONDS = 60


def archive_path(runtime: KafkaRuntime) -> Path:
    """Where the archive for exactly this Java and class path belongs."""
    fits = f"{runtime.java.version}\n{runtime.class_path}"
    digest = hashlib.sha256(fits.encode()).hexdigest()[:12]
    return Path(platformdirs.user_cache_dir("easyloop")) / f"kafka-classes-{digest}.jsa"


def with_class_archive(runtime: KafkaRuntime) -> KafkaRuntime:
    """The runtime with its archive; makes the archive at the first call (about 10 s).

    A Java that cannot write one leaves the runtime as it is: the archive saves time, nothing depends on it.
    """
    path = archive_path(runtime)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".classes-") as scratch:
            made = _record_classes(runtime, Path(scratch))
            if made is None:
                return runtime
            made.replace(path)
    return replace(runtime, class_archive=path)


def _record_classes(runtime: KafkaRuntime, scratch: Path) -> Path | None:
    """Run a broker for one record; at its end the JVM writes down the classes that it loaded."""
    ports = choose_ports({"broker": 0, "controller": 0}, {}, frozenset())
    place = BusPlace(scratch, ports["broker"], ports["controller"])
    properties = runtime.prepare(place).command[-1]
    runtime.format(place)
    archive = scratch / "classes.jsa"
    command = runtime.command("kafka.Kafka", properties, jvm_options=(f"-XX:ArchiveClassesAtExit={archive}",))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until_ready(lambda: check_kafka(f"{LOOPBACK}:{place.port}"), lambda: process.poll() is None, START_SECONDS)
        process.terminate()
        process.wait(WRITE_SECONDS)
    except (NotReadyError, subprocess.TimeoutExpired):
        # The real start, which follows, reports why a broker does not run.
        return None
    finally:
        process.kill()
        process.wait()
    return archive if archive.exists() else None
