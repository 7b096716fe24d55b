"""Pictures through the backbone by ONNX Runtime: features and maps, shard by shard.

One worker a core decodes, makes the views and runs the network on one thread; that keeps all cores busy
without copying pictures between threads, and bounds memory to a few pictures a worker.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from learning.backbones.description import read_backbone
from learning.backbones.efficientnet_lite import VARIANTS
from learning.image_classification.reading import decode_square
from learning.image_classification.shards import ShardHeader, write_shard
from learning.image_classification.tail_weights import cut_at
from learning.image_classification.views import decoded_side, make_view
from learning.study import Json
from learning.task import LabelledSample, Progress

SHARD_SAMPLES = 512
_BATCH = 2  # samples a call of the network: larger ones fall out of the cache


def extract_features(
    samples: Sequence[LabelledSample],
    recipe: Json,
    backbone: Path,
    progress: Progress,
    out: Path,
    most: int = SHARD_SAMPLES,
) -> Iterator[Path]:
    """Shards of at most `most` pictures, each sha once, in the order given; see `TaskPlugin.features`."""
    unique = list({sample.sha: sample for sample in samples}.values())
    if not unique:
        progress(1.0)
        return
    extractor = Extractor(backbone, recipe)
    for start in range(0, len(unique), most):
        part = unique[start : start + most]
        path = out / f"features-{part[0].sha[:16]}-{len(part)}"
        rows = _counted(extractor.run(part), progress, start, len(unique))
        write_shard(path, extractor.header([sample.sha for sample in part]), rows)
        yield path


def _counted(
    rows: Iterator[NDArray[np.float16]], progress: Progress, before: int, total: int
) -> Iterator[NDArray[np.float16]]:
    for done, row in enumerate(rows, start=before + 1):
        yield row
        progress(done / total)


class Extractor:
    """Runs the network over samples with one thread a core. `run` may be used from one thread at a time."""

    def __init__(self, backbone: Path, recipe: Json) -> None:
        described = read_backbone(backbone)
        path = described.path_of(backbone, recipe["precision"])
        cut = cut_at(VARIANTS[described.name], recipe["maps"]) if recipe.get("maps") else None
        self._recipe = {**recipe, "backbone_sha256": described.files[path.name]}
        self._resolution, self._dimensions = described.resolution, described.feature_dim
        self._map_size = cut.size if cut else 0
        self._views, self._seed = int(recipe["views"]), int(recipe["seed"])
        self._outputs = ["features", "map"] if cut else ["features"]
        if cut is None:
            self._session = open_session(path, threads=1)
        else:
            from learning.backbones.maps import with_map  # imports onnx, which few need

            self._session = open_session(with_map(path, cut, recipe["precision"]), threads=1)
        self._stopped = threading.Event()

    def header(self, shas: Sequence[str]) -> ShardHeader:
        """Of a shard with these samples."""
        return ShardHeader(self._recipe, tuple(shas), self._views, self._dimensions, self._map_size)

    def run(self, samples: Sequence[LabelledSample]) -> Iterator[NDArray[np.float16]]:
        """float16 [views, numbers] of each, in order. A sample that cannot be read ends it with SampleRejected."""
        batches = [samples[start : start + _BATCH] for start in range(0, len(samples), _BATCH)]
        with ThreadPoolExecutor(core_count()) as workers:
            try:
                for rows in workers.map(self._rows_of, batches):
                    yield from rows
            finally:
                self._stopped.set()  # the caller gave up or a sample failed: let queued batches return at once
        self._stopped.clear()

    def _rows_of(self, batch: Sequence[LabelledSample]) -> NDArray[np.float16]:
        if self._stopped.is_set():
            return np.empty((0, 0, 0), np.float16)
        views = [view for sample in batch for view in self._views_of(sample)]
        outputs = self._session.run(self._outputs, {"pictures": np.stack(views)})
        flat = [np.asarray(each, np.float16).reshape(len(batch), self._views, -1) for each in outputs]
        return np.concatenate(flat, axis=2)

    def _views_of(self, sample: LabelledSample) -> Iterator[NDArray[np.uint8]]:
        square = decode_square(sample.path.read_bytes(), sample.path.name, decoded_side(self._resolution))
        for index in range(self._views):
            yield make_view(square, self._resolution, sample.sha, index, self._seed)


def open_session(network: Path | bytes, threads: int) -> onnxruntime.InferenceSession:
    """A CPU session; its `run` may be called from several threads at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: on a machine shared by many services their spinning would cost the others more.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = network if isinstance(network, bytes) else str(network)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def core_count() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
