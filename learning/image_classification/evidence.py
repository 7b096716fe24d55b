"""What the training leaves for an honest evaluation: the training samples as vectors, and what they tell of themselves.

Vectors are those that a bundle's graph gives beside its scores: the features of the frozen network, or, behind a
fine-tuned tail, the mean of the map that it starts from. Pictures are compared by them as directions from the mean.
"""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.backbones.efficientnet_lite import VARIANTS
from learning.backbones.library import backbone_of
from learning.errors import ArtefactInvalidError
from learning.image_classification.candidates import is_tail
from learning.image_classification.diagnosis import diagnose
from learning.image_classification.features import ImageFeatures
from learning.image_classification.tail_weights import cut_at
from learning.study import Candidate, Json

# From where two pictures count as look-alikes; a mean of a map tells less apart than features do.
LOOK_ALIKE = {"features": 0.9, "map": 0.95}
_CHUNK = 512  # pictures at a time


@dataclass(frozen=True)
class Evidence:
    """vectors: float16 [N, D] of the training samples; kind: "features" or "map"."""

    kind: str
    vectors: NDArray[np.float16]
    shas: tuple[str, ...]
    labels: tuple[str, ...]
    diagnosis: Json


def write_evidence(features: ImageFeatures, candidate: Candidate, path: Path) -> None:
    """Of the samples that the winner, `candidate`, was fitted on. One file."""
    diagnosis = diagnose(features.values[0], features.targets, features.shas, features.class_ids)
    meta = {
        "kind": "map" if is_tail(candidate) else "features",
        "shas": features.shas,
        "labels": [features.class_ids[target] for target in features.targets],
        "diagnosis": diagnosis,
    }
    vectors = _map_means(features) if is_tail(candidate) else features.values[0]
    with path.open("wb") as file:
        np.savez(file, vectors=vectors.astype(np.float16), meta=np.array(json.dumps(meta)))


def read_evidence(path: Path) -> Evidence:
    """Raises ArtefactInvalidError."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            meta = json.loads(str(stored["meta"]))
            shas, labels = tuple(meta["shas"]), tuple(meta["labels"])
            return Evidence(meta["kind"], stored["vectors"], shas, labels, meta["diagnosis"])
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        sentence = f"What the training left for the evaluation cannot be read ({error}); start a new run."
        raise ArtefactInvalidError("evidence_damaged", sentence) from error


def nearest(
    evidence: Evidence, vectors: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Of each of [M, D] the `count` nearest training samples, the nearest first: rows and cosines, [M, count]."""
    known = evidence.vectors.astype(np.float32)
    mean = known.mean(axis=0) if len(known) else np.zeros(known.shape[1], np.float32)
    unit = _unit(known - mean)
    count = min(count, len(known))
    rows, cosines = np.zeros((len(vectors), count), np.int64), np.zeros((len(vectors), count), np.float32)
    for start in range(0, len(vectors), _CHUNK):
        likeness = _unit(vectors[start : start + _CHUNK] - mean) @ unit.T
        best = np.argsort(-likeness, axis=1, kind="stable")[:, :count]
        rows[start : start + _CHUNK] = best
        cosines[start : start + _CHUNK] = np.take_along_axis(likeness, best, axis=1)
    return rows, cosines


def _map_means(features: ImageFeatures) -> NDArray[np.float32]:
    maps = features.maps
    if maps is None:
        raise ArtefactInvalidError("maps_missing", "The features have no maps; compute them again.")
    channels = cut_at(VARIANTS[backbone_of(features.recipe)], features.recipe["maps"]).channels
    found = [
        maps.batch(rows, np.zeros(len(rows), np.int64)).reshape(len(rows), channels, -1).mean(axis=2)
        for rows in _chunks(len(features.shas))
    ]
    return np.concatenate(found) if found else np.zeros((0, channels), np.float32)


def _chunks(count: int) -> Sequence[NDArray[np.int64]]:
    return [np.arange(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]


def _unit(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12), np.float32)
