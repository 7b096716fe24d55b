"""The main job on a machine without Java, where the bus keeps everything in memory."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from easyloop.client import Client
from tests.e2e.conftest import Archives, client_of
from tests.e2e.walk import (
    accuracy,
    runs_of_its_model,
    served_version,
    start_automatic_run,
    until_the_study_has_started,
)
from tests.servers import LocalStack, stack_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def javaless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A platform that was started where no Java is found."""
    path = path_without(tmp_path_factory.mktemp("bin"), "java", "mvn")
    with stack_in(tmp_path_factory.mktemp("javaless"), PATH=path, JAVA_HOME="", KAFKA_HOME="") as stack:
        said = stack.up()
        assert "the bus is Tansu, since Kafka cannot run (java: it is not installed" in said
        yield stack


@pytest.fixture
def client(javaless: LocalStack) -> Iterator[Client]:
    with client_of(javaless) as client:
        yield client


def path_without(folder: Path, *names: str) -> str:
    """A PATH with everything that the present one has, but for these."""
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*"):
            link = folder / program.name
            if program.name not in names:
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return str(folder)


def test_an_upload_becomes_a_served_model_that_is_right(client: Client, archives: Archives) -> None:
    run = start_automatic_run(client, archives.training, "without java")
    assert served_version(client, run) == 1
    model_id = client.run(run.id).model_id
    assert model_id is not None
    assert accuracy(client, model_id, archives.held_out) >= 0.95


def test_a_bus_that_comes_back_empty_during_the_study_costs_no_run(
    javaless: LocalStack, client: Client, archives: Archives
) -> None:
    run = start_automatic_run(client, archives.training, "emptied bus")
    until_the_study_has_started(client, run.id)
    javaless.kill("bus")
    assert served_version(client, run) == 1
    assert runs_of_its_model(client, run.id) == [run.id]
