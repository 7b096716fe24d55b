"""What the parts of a study cost on this machine, from a short probe. Pure, but for `probe`.

Seconds are wall time with all cores. The probe measures the two things that everything consists of: a view through the
default backbone, and products of matrices.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from learning.backbones.description import read_backbone
from learning.backbones.efficientnet_lite import VARIANTS
from learning.backbones.library import backbone_folder
from learning.image_classification.tail_weights import cut_at, multiplications
from learning.study import Json

SPEEDS_OF_A_SLOW_MACHINE: Json = {"view_s": 0.008, "gflops": 60.0, "cores": 2}

_DECODING_VIEWS = 0.5  # decoding a picture and cutting its views, counted in views
# Views of the others, in views of the smallest; measured, as resolution and depth would have it.
_VIEW_COST = {"efficientnet-lite0": 1.0, "efficientnet-lite1": 1.5, "efficientnet-lite2": 2.1}
_HEAD_SAMPLE_VIEWS = 0.02  # one sample in one epoch of a head, counted in views
_TRAINING_PASSES = 3  # forward, and backward to maps and to weights
_EFFICIENCY = 0.5  # of the probe's products, in the tail's mixture of shapes
_START_VIEWS = 250  # starting a process or a trial whose libraries are loaded, counted in views
_END_VIEWS = 2000  # export, quantising, evaluation, registration, loading, counted in views


@dataclass(frozen=True)
class Costs:
    """Seconds on a machine with these speeds."""

    view_s: float
    gflops: float
    cores: int

    @classmethod
    def of(cls, speeds: Json) -> "Costs":
        """Of what a probe measured; a slow machine where none did."""
        known = {**SPEEDS_OF_A_SLOW_MACHINE, **speeds}
        return cls(float(known["view_s"]), float(known["gflops"]), int(known["cores"]))

    @property
    def start(self) -> float:
        """Of any stage."""
        return _START_VIEWS * self.view_s

    @property
    def end(self) -> float:
        """Of a run, after its fit."""
        return _END_VIEWS * self.view_s

    def features(self, backbone: str, samples: int, views: int) -> float:
        """Of all samples."""
        return samples * self.view_s * (_DECODING_VIEWS + views * _VIEW_COST[backbone])

    def head_epochs(self, samples: int, epochs: int) -> float:
        """Of one head on one core, whose other cores do the like."""
        return samples * epochs * _HEAD_SAMPLE_VIEWS * self.view_s

    def tail_epoch(self, backbone: str, place: str, samples: int) -> float:
        """Of one tail on all cores."""
        operations = 2e-9 * _TRAINING_PASSES * multiplications(VARIANTS[backbone], place)
        return samples * operations / (self.gflops * _EFFICIENCY)


def map_bytes(backbone: str, place: str, samples: int, views: int) -> int:
    """On disk, and in the object store."""
    return 2 * samples * views * cut_at(VARIANTS[backbone], place).size


def probe(backbones: Path, name: str) -> Json:
    """Measure a view and products of matrices, in a second: the best of many tries, others use the machine, too."""
    from learning.image_classification.extraction import core_count, open_session

    folder = backbone_folder(backbones, name)
    described = read_backbone(folder)
    session = open_session(described.path_of(folder, "int8"), threads=core_count())
    pictures = np.zeros((8, described.resolution, described.resolution, 3), np.uint8)
    view_s = _best_of(10, lambda: session.run(["features"], {"pictures": pictures})) / len(pictures)
    return {"view_s": view_s, "gflops": _products_gflops(core_count()), "cores": core_count()}


def _products_gflops(cores: int) -> float:
    """Of all cores together: a product on each, of the shapes that tails have."""
    a, b = np.ones((1152, 192), np.float32), np.ones((192, 32 * 49), np.float32)
    with ThreadPoolExecutor(cores) as threads:
        seconds = _best_of(15, lambda: list(threads.map(lambda _: a @ b, range(2 * cores))))
    return 2e-9 * 2 * cores * a.size * b.shape[1] / seconds


def _best_of(tries: int, work: Callable[[], object]) -> float:
    work()
    seconds = []
    for _ in range(tries):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
