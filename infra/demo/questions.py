"""Photographs to ask a model about, out of a zip with one folder a class."""

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from easyloop.client import Client


@dataclass(frozen=True)
class Question:
    """A photograph that no training has seen, and the class it really shows."""

    name: str
    content: bytes
    truth: str


def questions_of(archive: Path) -> Iterator[Question]:
    """In the order of their names; what packers leave behind is no question."""
    with zipfile.ZipFile(archive) as packed:
        for entry in sorted(name for name in packed.namelist() if not name.endswith("/")):
            path = PurePosixPath(entry)
            if not path.name.startswith(".") and "__MACOSX" not in path.parts and len(path.parts) > 1:
                yield Question(path.name, packed.read(entry), path.parts[-2])


def count_right(client: Client, model_id: str, questions: Sequence[Question]) -> int:
    """How many of them the published version tells right."""
    answers = client.predict_many(model_id, [(one.name, one.content) for one in questions])
    return sum(
        bool(answer.results) and answer.results[0].name == question.truth
        for question, answer in zip(questions, answers, strict=True)
    )
