"""A killed study, trainer or broker and an emptied one cost time, never a run, and never give two versions."""

from collections import Counter
from collections.abc import Iterator

import pytest

from easyloop.client import Client
from tests.e2e.conftest import Archives, client_of
from tests.e2e.walk import (
    runs_of_its_model,
    served_version,
    start_automatic_run,
    trials_of,
    until_the_study_has_started,
)
from tests.servers import LocalStack, stack_in

STUDY, TRAINER = "hpo.after_trial", "trainer.after_checkpoint"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A platform whose study kills itself after its first trial, and whose trainer after its first checkpoint; once."""
    failpoints = f"{STUDY}=kill_once,{TRAINER}=kill_once"
    with stack_in(tmp_path_factory.mktemp("fragile"), EASYLOOP_FAILPOINTS=failpoints) as stack:
        stack.up()
        yield stack


@pytest.fixture
def client(fragile: LocalStack) -> Iterator[Client]:
    with client_of(fragile) as client:
        yield client


def test_a_killed_study_and_a_killed_trainer_go_on_from_where_they_were(
    fragile: LocalStack, client: Client, archives: Archives
) -> None:
    before = {name: process.pid for name, process in fragile.supervisor.processes().items()}
    run = start_automatic_run(client, archives.training, "killed study, killed trainer")
    assert served_version(client, run) == 1
    for service, failpoint in (("hpo", STUDY), ("trainer", TRAINER)):
        assert (fragile.layout.root / "failpoints" / failpoint).exists()
        assert fragile.supervisor.processes()[service].pid != before[service]
    assert runs_of_its_model(client, run.id) == [run.id]
    # The first trial was over when the study died: it may be told of twice, but nothing is tried a third time.
    tried = Counter(trials_of(client, run.id))
    assert set(tried) == {0, 1, 2}
    assert tried.total() <= 4


def test_a_gateway_that_starts_after_the_news_loads_what_is_published(fragile: LocalStack, client: Client) -> None:
    published = client.models()[0]
    fragile.restart("gateway")
    fragile.up()  # returns once it answers
    client.wait_until_served(published.id, 1)


def test_a_broker_killed_during_the_study_costs_no_run(fragile: LocalStack, client: Client, archives: Archives) -> None:
    run = start_automatic_run(client, archives.training, "killed broker")
    until_the_study_has_started(client, run.id)
    fragile.kill("bus")
    assert served_version(client, run) == 1
    assert runs_of_its_model(client, run.id) == [run.id]


def test_a_broker_that_lost_everything_twice_costs_neither_an_import_nor_a_run(
    fragile: LocalStack, client: Client, archives: Archives
) -> None:
    dataset = client.create_dataset("emptied broker", auto_train="fast")
    imported = client.upload(dataset.id, archives.training)
    fragile.empty_kafka()
    version = client.wait_for_version(dataset.id, imported.id)
    run = client.automatic_run(dataset.id, version.version)
    until_the_study_has_started(client, run.id)
    fragile.empty_kafka()
    assert served_version(client, run) == 1
    assert runs_of_its_model(client, run.id) == [run.id]
