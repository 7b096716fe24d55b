"""Features of pictures: float16 [views, samples, dimensions] with class indexes, computed by ONNX Runtime.

One worker a core decodes, makes the views and runs the network on one thread; that keeps all cores busy
without copying pictures between threads, and bounds memory to a few pictures a worker.
"""

import json
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from learning.backbones.description import read_backbone
from learning.errors import ArtefactInvalidError
from learning.image_classification.reading import decode_square
from learning.image_classification.views import decoded_side, make_view
from learning.task import FeatureSet, Json, LabelledSample, Progress

_BATCH = 2  # samples a call of the network: larger ones fall out of the cache


@dataclass(frozen=True)
class ImageFeatures:
    """values: float16 [V, N, D], view 0 as predicted on. targets: int64 [N], indexes into class_ids.

    recipe: what they were computed by, backbone included; sets of different recipes do not mix.
    """

    values: NDArray[np.float16]
    targets: NDArray[np.int64]
    shas: tuple[str, ...]
    class_ids: tuple[str, ...]
    recipe: Json

    def save(self, path: Path) -> None:
        """Write one uncompressed .npz file, whatever the extension of `path`."""
        meta = json.dumps({"shas": self.shas, "class_ids": self.class_ids, "recipe": self.recipe})
        with path.open("wb") as file:
            np.savez(file, values=self.values, targets=self.targets, meta=np.array(meta))

    def subset(self, shas: Sequence[str]) -> "ImageFeatures":
        """Only these samples, in this order; unknown ones are left out."""
        place = {sha: index for index, sha in enumerate(self.shas)}
        kept = [sha for sha in shas if sha in place]
        rows = np.array([place[sha] for sha in kept], np.int64)
        return ImageFeatures(self.values[:, rows], self.targets[rows], tuple(kept), self.class_ids, self.recipe)

    def joined(self, other: "ImageFeatures") -> "ImageFeatures":
        """The samples of both, these first. Both are of the same recipe and classes."""
        if (self.recipe, self.class_ids) != (other.recipe, other.class_ids):
            raise ArtefactInvalidError("features_differ", "Features of different recipes or classes cannot be joined.")
        return ImageFeatures(
            np.concatenate([self.values, other.values], axis=1),
            np.concatenate([self.targets, other.targets]),
            self.shas + other.shas,
            self.class_ids,
            self.recipe,
        )


def load_features(path: Path) -> ImageFeatures:
    """Read what `ImageFeatures.save` wrote. Raises ArtefactInvalidError."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            meta = json.loads(str(stored["meta"]))
            return ImageFeatures(
                stored["values"],
                stored["targets"],
                tuple(meta["shas"]),
                tuple(meta["class_ids"]),
                meta["recipe"],
            )
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        sentence = f"The feature file {path.name} cannot be read ({error}); compute the features again."
        raise ArtefactInvalidError("features_damaged", sentence) from error


def extract_features(
    samples: Sequence[LabelledSample],
    class_ids: Sequence[str],
    recipe: Json,
    backbone: Path,
    progress: Progress,
    known: FeatureSet | None,
) -> ImageFeatures:
    """Features of all samples, each sha once, in the order given; see `TaskPlugin.features`."""
    described = read_backbone(backbone)
    path = described.path_of(backbone, recipe["precision"])
    full_recipe = {**recipe, "backbone_sha256": described.files[path.name]}
    unique = {sample.sha: sample for sample in samples}
    targets = _targets(unique.values(), class_ids)
    reusable = _reusable(known, full_recipe, unique)
    missing = [sample for sha, sample in unique.items() if sha not in reusable]
    extractor = _Extractor(path, described.resolution, int(recipe["views"]), int(recipe["seed"]))
    values = np.empty((int(recipe["views"]), len(unique), described.feature_dim), np.float16)
    place = {sha: index for index, sha in enumerate(unique)}
    for sha, row in reusable.items():
        values[:, place[sha]] = row
    for done, (sha, row) in enumerate(extractor.run(missing), start=1):
        values[:, place[sha]] = row
        progress(done / len(missing))
    if not missing:
        progress(1.0)
    return ImageFeatures(values, targets, tuple(unique), tuple(class_ids), full_recipe)


def _targets(samples: Iterable[LabelledSample], class_ids: Sequence[str]) -> NDArray[np.int64]:
    index_of = {class_id: index for index, class_id in enumerate(class_ids)}
    strangers = sorted({sample.labels[0] for sample in samples} - set(class_ids))
    if strangers:
        sentence = f"Samples are labelled with {', '.join(strangers)}, which the data set does not have; save it again."
        raise ArtefactInvalidError("labels_unknown", sentence)
    return np.array([index_of[sample.labels[0]] for sample in samples], np.int64)


def _reusable(
    known: FeatureSet | None, recipe: Json, wanted: dict[str, LabelledSample]
) -> dict[str, NDArray[np.float16]]:
    if not isinstance(known, ImageFeatures) or known.recipe != recipe:
        return {}
    return {sha: known.values[:, index] for index, sha in enumerate(known.shas) if sha in wanted}


class _Extractor:
    """Runs the network over samples with one thread a core. `run` may be used from one thread at a time."""

    def __init__(self, network: Path, resolution: int, views: int, seed: int) -> None:
        self._resolution, self._views, self._seed = resolution, views, seed
        self._session = open_session(network, threads=1)
        self._stopped = threading.Event()

    def run(self, samples: Sequence[LabelledSample]) -> Iterator[tuple[str, NDArray[np.float16]]]:
        """Yield (sha, float16 [V, D]) in order. A sample that cannot be read ends it with SampleRejected."""
        batches = [samples[start : start + _BATCH] for start in range(0, len(samples), _BATCH)]
        with ThreadPoolExecutor(_core_count()) as workers:
            try:
                for batch, rows in zip(batches, workers.map(self._features_of, batches), strict=True):
                    for sample, row in zip(batch, rows, strict=True):
                        yield sample.sha, row
            finally:
                self._stopped.set()  # the caller gave up or a sample failed: let queued batches return at once

    def _features_of(self, batch: Sequence[LabelledSample]) -> NDArray[np.float16]:
        if self._stopped.is_set():
            return np.empty((0, 0, 0), np.float16)
        views = [view for sample in batch for view in self._views_of(sample)]
        (features,) = self._session.run(["features"], {"pictures": np.stack(views)})
        return np.asarray(features, np.float16).reshape(len(batch), self._views, -1)

    def _views_of(self, sample: LabelledSample) -> Iterator[NDArray[np.uint8]]:
        square = decode_square(sample.path.read_bytes(), sample.path.name, decoded_side(self._resolution))
        for index in range(self._views):
            yield make_view(square, self._resolution, sample.sha, index, self._seed)


def open_session(network: Path, threads: int) -> onnxruntime.InferenceSession:
    """A CPU session; its `run` may be called from several threads at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: on a machine shared by many services their spinning would cost the others more.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])


def _core_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
