"""What tests of hpo, trainer and evaluator start from: a version in the object store, and the job's voice."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.local_cache import LocalBlobCache
from chassis.job_process import JobContext
from chassis.manifests import ClassName, Manifest, Sample, write_manifest
from schemas.base import DEFAULT_PROJECT, BlobRef, Split
from schemas.learning import ModelTrained, StudyCompleted
from schemas.run import Budget, RunEnded, RunStarted

CLASSES = (ClassName("cls_a", "apple"), ClassName("cls_b", "pear"))
BUDGET = Budget(preset="fast", seconds=100, deadline=datetime(2026, 1, 1, 0, 1, 40, tzinfo=UTC))
RUN = "run_1"
RUN_FIELDS = {"run_id": RUN, "dataset_id": "ds_1", "version": 1, "model_id": "mdl_1", "task": "fake"}


def a_version(
    blobs: FakeBlobStore,
    contents: Sequence[tuple[str, Split]],
    classes: Sequence[ClassName] = CLASSES,
    fingerprints: Mapping[str, str] = MappingProxyType({}),
) -> BlobRef:
    """A manifest of samples whose content is "[hard |fine ]<class id> <anything>"."""
    samples = []
    for content, split in contents:
        ref = blobs.put(DEFAULT_PROJECT, content.encode(), "text/plain")
        label = content.removeprefix("hard ").removeprefix("fine ").split()[0]
        samples.append(Sample(content, (label,), ref, 0, 0, (), split, fingerprints.get(content, "")))
    manifest = write_manifest(Manifest(tuple(classes), tuple(samples)))
    return blobs.put(DEFAULT_PROJECT, manifest, "application/vnd.apache.parquet")


SMALL: tuple[tuple[str, Split], ...] = (
    ("cls_a 1", "train"),
    ("cls_b 2", "train"),
    ("cls_a 3", "validation"),
    ("cls_b 4", "validation"),
    ("cls_a 5", "test"),
    ("hard cls_b 6", "test"),
)


def a_run(manifest: BlobRef, version: int = 1) -> RunStarted:
    """hpo's order."""
    facts = {**RUN_FIELDS, "version": version, "manifest": manifest, "budget": BUDGET, "seed": 7}
    return RunStarted.model_validate(facts)


def a_study(manifest: BlobRef, winner: BlobRef, features: Sequence[BlobRef] = ()) -> StudyCompleted:
    """The trainer's order."""
    found = {"winner": winner, "features": list(features), "metrics": {}, "trial_count": 2}
    return StudyCompleted.model_validate(
        {**RUN_FIELDS, "study_id": "std_1", "manifest": manifest, "budget": BUDGET, "seed": 7, **found}
    )


def a_model(manifest: BlobRef, bundle: BlobRef, evidence: BlobRef | None = None) -> ModelTrained:
    """The evaluator's order."""
    made: dict[str, Any] = {"manifest": manifest, "bundle": bundle, "evidence": evidence, "metrics": {}}
    return ModelTrained.model_validate({**RUN_FIELDS, **made})


def an_end(state: str = "cancelled") -> RunEnded:
    """The end of the run."""
    return RunEnded.model_validate({"run_id": RUN, "dataset_id": "ds_1", "state": state, "model_id": "mdl_1"})


@dataclass
class Stage:
    """A job's surroundings on the local disk and in a fake object store."""

    folder: Path
    blobs: FakeBlobStore

    @property
    def cache(self) -> LocalBlobCache:
        """Of this stage's own machine."""
        return LocalBlobCache(self.blobs, self.folder / "samples")

    @property
    def scratch(self) -> Path:
        """Where jobs put their files."""
        return self.folder / "scratch"

    def leftovers(self) -> list[Path]:
        """Files of jobs that are still there."""
        return [path for path in self.scratch.rglob("*") if path.is_file()]


class Voice:
    """A job context, and what was said through it."""

    def __init__(self, kind: str, args: dict[str, Any]) -> None:
        self._out = io.StringIO()
        self.context = JobContext("job_1", kind, args, None, self._out)

    def said(self, key: str) -> list[Any]:
        """The messages of one kind, in order."""
        messages = [json.loads(line) for line in self._out.getvalue().splitlines()]
        return [message[key] for message in messages if key in message]
