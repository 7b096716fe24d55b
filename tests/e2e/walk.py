"""The main job, step by step, through the public API alone."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from easyloop.answers import Run
from easyloop.client import Client


def start_automatic_run(client: Client, archive: Path, name: str) -> Run:
    """Upload with auto_train=fast; the run that follows from it."""
    dataset = client.create_dataset(name, auto_train="fast")
    imported = client.upload(dataset.id, archive)
    version = client.wait_for_version(dataset.id, imported.id)
    return client.automatic_run(dataset.id, version.version)


def served_version(client: Client, run: Run) -> int:
    """The version that came of a run that succeeded, once the gateway answers from it."""
    ended = client.wait_for_run(run.id)
    assert ended.state == "succeeded", ended.failure
    assert ended.model_id is not None
    assert ended.model_version is not None
    client.wait_until_served(ended.model_id, ended.model_version)
    return ended.model_version


def until_the_study_has_started(client: Client, run_id: str) -> None:
    """Returns at that event."""
    for event in client.run_events(run_id):
        if event.type == "easyloop.study.started.v1":
            return


def trials_of(client: Client, run_id: str) -> list[int]:
    """The numbers of the trials of a run that is over, as they were told."""
    events = client.run_events(run_id)
    return [int(event.data["trial"]) for event in events if event.type == "easyloop.trial.completed.v1"]


def runs_of_its_model(client: Client, run_id: str) -> list[str]:
    """The run of each version of the model that the run made or added to."""
    model_id = client.run(run_id).model_id
    assert model_id is not None
    return [version.run_id for version in client.model_versions(model_id)]


def accuracy(client: Client, model_id: str, archive: Path) -> float:
    """Of the published version on the photographs of a folder-per-class zip."""
    questions = list(_questions(archive))
    answers = client.predict_many(model_id, [(name, content) for name, content, _ in questions])
    truths = [truth for _, _, truth in questions]
    right = [answer.results[0].name == truth for answer, truth in zip(answers, truths, strict=True)]
    return sum(right) / len(right)


def _questions(archive: Path) -> Iterator[tuple[str, bytes, str]]:
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.namelist():
            path = PurePosixPath(entry)
            yield path.name, packed.read(entry), path.parent.name
