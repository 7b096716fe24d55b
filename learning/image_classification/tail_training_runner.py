"""Train the tail of a backbone, with a linear head behind it, from cached maps. Importing this module imports Paddle.

Deterministic on one machine, and a resumed training goes on exactly: every epoch seeds itself from (seed, epoch)
and the learning rates are functions of the step.
"""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from numpy.typing import NDArray
from paddle import nn

from learning.backbones.efficientnet_lite import FEATURE_DIM
from learning.backbones.library import backbone_of
from learning.device import Device
from learning.errors import ArtefactInvalidError
from learning.image_classification.candidates import TailParameters
from learning.image_classification.checkpoint_runner import read_checkpoint, write_checkpoint
from learning.image_classification.features import ImageFeatures, MapStore
from learning.image_classification.head_weights import HeadWeights
from learning.image_classification.losses import class_weights, dropout_mask, smoothed
from learning.image_classification.model_file import ImageModel
from learning.image_classification.tail_layers_runner import LayerTail
from learning.image_classification.tail_matrix_runner import MatrixTail
from learning.image_classification.tail_weights import TailWeights, pretrained_tail

_BATCH = 32  # pictures a step
_JUDGED = 64  # pictures at a time when nothing is learnt
_FLOOR = 0.01  # of the learning rate, at the end
_QUANTISING_MAPS = 64  # that go with the model, for its int8 export


class TailTraining:
    """One training: construct, then call `run_epoch` `epochs` times."""

    def __init__(
        self, features: ImageFeatures, parameters: TailParameters, epochs: int, seed: int, device: Device
    ) -> None:
        paddle.disable_static()  # a thread's first use of Paddle may find it in static mode
        paddle.set_device(device)
        paddle.seed(seed)
        self._features, self._parameters, self._epochs, self._seed = features, parameters, epochs, seed
        self._maps = _maps_of(features)
        self._device = device
        self.epoch = 0
        self._tail = tail_network(pretrained_tail(backbone_of(features.recipe), parameters.place), device)
        small = paddle.ParamAttr(initializer=nn.initializer.Normal(0, 1e-2))
        self._head = nn.Linear(FEATURE_DIM, len(features.class_ids), weight_attr=small)
        self._optimizers = [self._adamw(self._tail), self._adamw(self._head)]
        self._averages = [parameter.numpy() for parameter in self._all()] if parameters.averaging else []
        self._class_weights = class_weights(features.targets, len(features.class_ids), parameters.is_balanced)

    def run_epoch(self) -> float:
        """Train once over all samples, a random view of each; the mean loss."""
        random = np.random.default_rng([self._seed, self.epoch])
        losses = [self._step(rows, random, at) for at, rows in enumerate(self._batches(random))]
        self.epoch += 1
        return float(np.mean(losses))

    def logits(self, features: ImageFeatures) -> NDArray[np.float32]:
        """float32 [N, C] of samples with maps, as the exported model has them."""
        views = (0, 1) if self._parameters.is_mirrored else (0,)
        with self._averaged_weights():
            found = [self._logits_of_view(_maps_of(features), view) for view in views]
        return np.asarray(np.mean(found, axis=0), np.float32)

    def model(self) -> ImageModel:
        """As it is now, with the maps that show an int8 export the ranges of its numbers."""
        kernel_of_nothing = {"mean": np.zeros(FEATURE_DIM, np.float32), "scale": np.ones(FEATURE_DIM, np.float32)}
        with self._averaged_weights():
            arrays = {**kernel_of_nothing, "kernel": self._head.weight.numpy(), "bias": self._head.bias.numpy()}
            head = HeadWeights("linear", self._parameters.is_mirrored, arrays)
            return ImageModel(backbone_of(self._features.recipe), head, self._tail.weights(), self._quantising_maps())

    def checkpoint(self) -> bytes:
        """All that `restore` needs to go on exactly."""
        averages = {f"a{i}": average for i, average in enumerate(self._averages)}
        return write_checkpoint(self.epoch, self._all(), self._optimizers, averages)

    def restore(self, checkpoint: bytes) -> None:
        """Continue from a checkpoint of a training with the same arguments."""
        self._step(np.zeros(1, np.int64), np.random.default_rng(0), 0)  # its effect is overwritten
        self.epoch, more = read_checkpoint(checkpoint, self._all(), self._optimizers)
        self._averages = [more[f"a{i}"] for i in range(len(self._averages))]

    def _adamw(self, network: nn.Layer) -> paddle.optimizer.AdamW:
        return paddle.optimizer.AdamW(0.0, parameters=network.parameters(), weight_decay=self._parameters.weight_decay)

    def _all(self) -> list[paddle.Tensor]:
        return [*self._tail.parameters(), *self._head.parameters()]

    def _batches(self, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        order = random.permutation(len(self._features.targets))
        for start in range(0, len(order), _BATCH):
            yield order[start : start + _BATCH]

    def _step(self, rows: NDArray[np.int64], random: np.random.Generator, at: int) -> float:
        x, soft = self._mixed(*self._drawn(rows, random), random)
        self._set_rates(self._progress(at))
        with self._precision():
            features = self._tail(paddle.to_tensor(x))
            mask = dropout_mask(random, (len(rows), FEATURE_DIM), self._parameters.dropout)
            logits = self._head(features * paddle.to_tensor(mask))
        loss = -(paddle.to_tensor(soft) * F.log_softmax(logits.astype("float32"))).sum(1).mean()
        loss.backward()
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.clear_grad()
        self._update_averages(self.epoch * self._steps() + at)
        return float(loss)

    def _drawn(
        self, rows: NDArray[np.int64], random: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Maps of a random view of each, and weighted soft targets."""
        targets = self._features.targets[rows]
        step = 1 if self._parameters.is_mirrored else 2  # odd views are mirrored
        views = random.integers(-(-len(self._features.values) // step), size=len(rows)) * step
        soft = smoothed(targets, len(self._features.class_ids), self._parameters.smoothing)
        return self._maps.batch(rows, views), soft * self._class_weights[targets, np.newaxis]

    def _mixed(
        self, x: NDArray[np.float32], soft: NDArray[np.float32], random: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Zhang et al., mixup (2018), of maps."""
        if not self._parameters.mixup:
            return x, soft
        share = np.float32(random.beta(self._parameters.mixup, self._parameters.mixup))
        others = random.permutation(len(x))
        return share * x + (1 - share) * x[others], share * soft + (1 - share) * soft[others]

    def _steps(self) -> int:
        """Of an epoch."""
        return math.ceil(len(self._features.targets) / _BATCH)

    def _progress(self, at: int) -> float:
        return (self.epoch * self._steps() + at) / (self._epochs * self._steps())

    def _set_rates(self, progress: float) -> None:
        """Up in a straight line in the first epoch, at most a quarter of all; a cosine on top, down to a hundredth."""
        warm = min(1.0, (progress + 0.5 / (self._epochs * self._steps())) / min(0.25, 1 / self._epochs))
        share = warm * (0.5 * (1 + math.cos(math.pi * progress)) * (1 - _FLOOR) + _FLOOR)
        rates = (self._parameters.learning_rate, self._parameters.head_learning_rate)
        for optimizer, rate in zip(self._optimizers, rates, strict=True):
            optimizer.set_lr(rate * share)

    def _update_averages(self, step: int) -> None:
        """Exponential moving averages, short at the beginning."""
        keep = min(self._parameters.averaging, (1 + step) / (10 + step))
        for average, parameter in zip(self._averages, self._all(), strict=False):
            average *= keep
            average += (1 - keep) * parameter.numpy()

    @contextmanager
    def _averaged_weights(self) -> Iterator[None]:
        if not self._averages:
            yield
            return
        own = [parameter.numpy() for parameter in self._all()]
        _set_all(self._all(), self._averages)
        yield
        _set_all(self._all(), own)

    def _logits_of_view(self, maps: MapStore, view: int) -> NDArray[np.float32]:
        found = []
        with paddle.no_grad(), self._precision():
            for start in range(0, len(maps.rows), _JUDGED):
                rows = np.arange(start, min(start + _JUDGED, len(maps.rows)))
                x = paddle.to_tensor(maps.batch(rows, np.full(len(rows), view)))
                found.append(self._head(self._tail(x)).astype("float32").numpy())
        return np.concatenate(found) if found else np.zeros((0, len(self._features.class_ids)), np.float32)

    def _quantising_maps(self) -> NDArray[np.float16]:
        count = len(self._features.targets)
        rows = np.unique(np.linspace(0, count - 1, min(count, _QUANTISING_MAPS)).astype(np.int64))
        views = np.arange(len(rows)) % len(self._features.values)
        return self._maps.batch(rows, views).astype(np.float16)

    def _precision(self) -> AbstractContextManager[None]:
        if self._device == "gpu" and paddle.amp.is_bfloat16_supported():
            mixed: AbstractContextManager[None] = paddle.amp.auto_cast(dtype="bfloat16")
            return mixed
        return nullcontext()


def tail_network(start: TailWeights, device: Device) -> MatrixTail | LayerTail:
    """In the form that trains fastest on the device."""
    return MatrixTail(start) if device == "cpu" else LayerTail(start)


def _maps_of(features: ImageFeatures) -> MapStore:
    if features.maps is None:
        raise ArtefactInvalidError(
            "maps_missing", "The features have no maps to train a tail from; compute them again."
        )
    return features.maps


def _set_all(parameters: list[paddle.Tensor], values: list[NDArray[np.float32]]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        parameter.set_value(value)
