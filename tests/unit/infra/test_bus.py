"""Which broker it is; Java, jars and settings of Kafka."""

import os
import subprocess
from pathlib import Path

import pytest

from infra.local.bus import choose_bus
from infra.local.bus_runtime import BusPlace
from infra.local.errors import StackError
from infra.local.java import Java, find_java, major_version
from infra.local.kafka import KafkaRuntime, server_properties
from infra.local.kafka_class_archive import archive_path
from infra.local.kafka_jars import ensure_jars, jar_folder
from infra.local.tansu import TansuRuntime


def an_executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_the_version_of_java_is_read_in_every_form(text: str, major: int | None) -> None:
    assert major_version(text) == major


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    executable = an_executable(tmp_path / "bin" / "java", """echo 'openjdk version "21.0.1"' >&2""")
    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]}).executable == str(executable)


@pytest.mark.parametrize(
    ("script", "reason"),
    [("echo 'openjdk version \"11.0.2\"' >&2", "its version is 11"), ("exit 1", "it does not run")],
)
def test_a_java_that_cannot_run_the_broker_is_refused(tmp_path: Path, script: str, reason: str) -> None:
    an_executable(tmp_path / "bin" / "java", script)
    with pytest.raises(StackError, match=f"{reason}.*install a Java runtime of version 17"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"not installed.*version 17"):
        find_java({"PATH": str(tmp_path)})


def test_kafka_home_gives_its_jars_without_maven(tmp_path: Path) -> None:
    jar = tmp_path / "libs" / "kafka_2.13-4.1.0.jar"
    jar.parent.mkdir()
    jar.touch()
    assert ensure_jars({"KAFKA_HOME": str(tmp_path)}) == [jar]


def test_a_kafka_that_is_too_old_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "libs" / "kafka_2.13-3.9.0.jar"
    jar.parent.mkdir()
    jar.touch()
    with pytest.raises(StackError, match=r"version 3\.9 is too old"):
        ensure_jars({"KAFKA_HOME": str(tmp_path)})


def test_a_kafka_home_without_a_broker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="holds no libs"):
        ensure_jars({"KAFKA_HOME": str(tmp_path)})


def test_a_bus_that_does_not_exist_is_refused() -> None:
    with pytest.raises(StackError, match="EASYLOOP_LOCAL_BUS=rabbit: there is no such bus; set it to kafka, tansu"):
        choose_bus(pytest.fail, {"EASYLOOP_LOCAL_BUS": "rabbit"})


@pytest.mark.parametrize("wish", [{}, {"EASYLOOP_LOCAL_BUS": "auto"}])
def test_a_machine_without_java_gets_tansu_and_hears_what_that_means(tmp_path: Path, wish: dict[str, str]) -> None:
    said: list[str] = []
    assert choose_bus(said.append, {"PATH": str(tmp_path), **wish}).kind == "tansu"
    assert len(said) == 1
    assert "java: it is not installed" in said[0]
    assert "forgets its messages when it stops" in said[0]


def test_who_asks_for_tansu_gets_it_whatever_is_installed() -> None:
    assert choose_bus(pytest.fail, {"EASYLOOP_LOCAL_BUS": "tansu", "PATH": os.environ["PATH"]}).kind == "tansu"


def test_who_insists_on_kafka_hears_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"java.*not installed.*EASYLOOP_LOCAL_BUS=tansu does without"):
        choose_bus(pytest.fail, {"PATH": str(tmp_path), "EASYLOOP_LOCAL_BUS": "kafka"})


def test_every_start_of_tansu_is_a_cluster_of_its_own(tmp_path: Path) -> None:
    broker = an_executable(tmp_path / "tansu", 'echo "$@"')
    program = TansuRuntime(broker).prepare(BusPlace(tmp_path / "bus", 9092, 9093))
    starts = {subprocess.run(program.command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(starts) == 2
    assert all(b"--listener-url tcp://127.0.0.1:9092" in start for start in starts)


@pytest.fixture
def pom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pom whose jars nobody fetched yet, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "pom.xml"
    path.write_text("<kafka.version>4.4.0</kafka.version>", encoding="utf-8")
    return path


def test_without_maven_the_way_out_is_named(tmp_path: Path, pom: Path) -> None:
    with pytest.raises(StackError, match=r"Maven.*not on the PATH.*install Maven"):
        ensure_jars({"PATH": str(tmp_path)}, pom)


def test_what_maven_complains_of_is_passed_on_and_nothing_half_done_stays(tmp_path: Path, pom: Path) -> None:
    an_executable(tmp_path / "bin" / "mvn", "echo '[ERROR] no such host'; exit 1")
    with pytest.raises(StackError, match="could not fetch") as failure:
        ensure_jars({"PATH": str(tmp_path / "bin")}, pom)
    assert failure.value.log_tail == "[ERROR] no such host"
    assert list(jar_folder(pom).parent.iterdir()) == []


def test_jars_are_fetched_once(tmp_path: Path, pom: Path) -> None:
    copy_one = 'for each in "$@"; do case "$each" in -DoutputDirectory=*) folder="${each#*=}";; esac; done'
    maven = an_executable(tmp_path / "bin" / "mvn", f'{copy_one}\n/bin/mkdir -p "$folder"; : > "$folder/kafka.jar"')
    environment = {"PATH": str(maven.parent)}
    fetched = ensure_jars(environment, pom)
    assert [jar.name for jar in fetched] == ["kafka.jar"]
    maven.unlink()
    assert ensure_jars(environment, pom) == fetched


def test_another_pom_has_another_folder(pom: Path) -> None:
    before = jar_folder(pom)
    pom.write_text("<kafka.version>4.4.0</kafka.version><log4j.version>2</log4j.version>", encoding="utf-8")
    assert jar_folder(pom) != before


def test_a_class_archive_fits_one_java_and_one_class_path() -> None:
    runtimes = [
        KafkaRuntime(Java("java", "17.0.1"), (Path("/a.jar"),)),
        KafkaRuntime(Java("java", "17.0.2"), (Path("/a.jar"),)),
        KafkaRuntime(Java("java", "17.0.1"), (Path("/b.jar"),)),
    ]
    assert len({archive_path(runtime) for runtime in runtimes}) == 3


def test_the_broker_listens_on_loopback_alone_and_makes_no_topics_by_accident(tmp_path: Path) -> None:
    text = server_properties(BusPlace(tmp_path, 9092, 9093))
    settings = dict(line.split("=", 1) for line in text.splitlines())
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["auto.create.topics.enable"] == "false"
    assert {value for name, value in settings.items() if name.endswith(("replication.factor", "min.isr"))} == {"1"}
