"""Train heads on cached features with Paddle. Importing this module imports Paddle.

Deterministic on one machine, and a resumed training goes on exactly: every epoch seeds itself from (seed, epoch)
and the learning rate is a function of the step.
"""

import math
from collections.abc import Iterator

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from numpy.typing import NDArray
from paddle import nn

from learning.backbones.library import backbone_of
from learning.device import Device
from learning.image_classification.candidates import HeadParameters
from learning.image_classification.checkpoint_runner import read_checkpoint, write_checkpoint
from learning.image_classification.features import ImageFeatures
from learning.image_classification.head_weights import HeadWeights
from learning.image_classification.losses import class_weights, dropout_mask, smoothed
from learning.image_classification.model_file import ImageModel

_BATCH = 256
_HIDDEN = 512  # units of the MLP
_HIDDEN_DROPOUT = 0.3
_START_GAIN = 2.5  # logarithm of the cosine head's gain


class _Dense(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """linear and mlp: standardised features, then one or two layers."""

    def __init__(self, kind: str, values: NDArray[np.float16], class_count: int) -> None:
        super().__init__()
        dimensions = values.shape[-1]
        flat = values.reshape(-1, dimensions)
        self.mean = flat.mean(0, dtype=np.float32)
        self.scale = (flat.std(0, dtype=np.float32) + np.float32(1e-3)).astype(np.float32)
        small = paddle.ParamAttr(initializer=nn.initializer.Normal(0, 1e-3))
        self.hidden = nn.Linear(dimensions, _HIDDEN) if kind == "mlp" else None
        self.out = nn.Linear(_HIDDEN if kind == "mlp" else dimensions, class_count, weight_attr=small)

    def prepare(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray((values - self.mean) / self.scale, np.float32)

    def forward(self, x: paddle.Tensor, hidden_mask: paddle.Tensor) -> paddle.Tensor:
        if self.hidden is not None:
            x = F.relu(self.hidden(x)) * hidden_mask
        return self.out(x)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        arrays = {"mean": self.mean, "scale": self.scale}
        if self.hidden is not None:
            arrays |= {"hidden_kernel": self.hidden.weight.numpy(), "hidden_bias": self.hidden.bias.numpy()}
        return arrays | {"kernel": self.out.weight.numpy(), "bias": self.out.bias.numpy()}


class _Cosine(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """cosine: similarity to one direction a class, times a learnt gain."""

    def __init__(self, dimensions: int, class_count: int) -> None:
        super().__init__()
        shape = [dimensions, class_count]
        self.kernel = self.create_parameter(shape, default_initializer=nn.initializer.Normal(0, 0.02))
        self.gain = self.create_parameter([1], default_initializer=nn.initializer.Constant(_START_GAIN))

    def prepare(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values

    def forward(self, x: paddle.Tensor, hidden_mask: paddle.Tensor) -> paddle.Tensor:
        return F.normalize(x, axis=1) @ F.normalize(self.kernel, axis=0) * paddle.exp(self.gain)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        kernel = self.kernel.numpy()
        unit = kernel / np.maximum(np.linalg.norm(kernel, axis=0, keepdims=True), 1e-12)
        return {"gain": np.exp(self.gain.numpy()), "kernel": unit}


class HeadTraining:
    """One training: construct, then call `run_epoch` `epochs` times."""

    def __init__(
        self, features: ImageFeatures, parameters: HeadParameters, epochs: int, seed: int, device: Device
    ) -> None:
        paddle.disable_static()  # a thread's first use of Paddle may find it in static mode
        paddle.set_device(device)
        paddle.seed(seed)
        self._features, self._parameters, self._epochs, self._seed = features, parameters, epochs, seed
        self.epoch = 0
        # Odd views are mirrored.
        self._values = features.values if parameters.is_mirrored else features.values[::2]
        self._class_count = len(features.class_ids)
        if parameters.kind == "cosine":
            self._head = _Cosine(self._values.shape[-1], self._class_count)
        else:
            self._head = _Dense(parameters.kind, self._values, self._class_count)
        self._optimizer = paddle.optimizer.AdamW(
            parameters.learning_rate, parameters=self._head.parameters(), weight_decay=parameters.weight_decay
        )
        self._class_weights = class_weights(features.targets, self._class_count, parameters.is_balanced)

    def run_epoch(self) -> float:
        """Train once over all samples, a random view of each; the mean loss."""
        random = np.random.default_rng([self._seed, self.epoch])
        losses = [self._step(rows, random, at) for at, rows in enumerate(self._batches(random))]
        self.epoch += 1
        return float(np.mean(losses))

    def weights(self) -> HeadWeights:
        """The head as it is now."""
        return HeadWeights(self._parameters.kind, self._parameters.is_mirrored, self._head.arrays())

    def logits(self, features: ImageFeatures) -> NDArray[np.float32]:
        """float32 [N, C], as the exported model has them."""
        return self.weights().logits_of_views(features.values)

    def model(self) -> ImageModel:
        """As it is now."""
        return ImageModel(backbone_of(self._features.recipe), self.weights())

    def checkpoint(self) -> bytes:
        """All that `restore` needs to go on exactly."""
        return write_checkpoint(self.epoch, self._head.parameters(), [self._optimizer])

    def restore(self, checkpoint: bytes) -> None:
        """Continue from a checkpoint of a training with the same arguments."""
        self._touch_optimizer()
        self.epoch, _ = read_checkpoint(checkpoint, self._head.parameters(), [self._optimizer])

    def _batches(self, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        order = random.permutation(len(self._features.targets))
        for start in range(0, len(order), _BATCH):
            yield order[start : start + _BATCH]

    def _step(self, rows: NDArray[np.int64], random: np.random.Generator, at: int) -> float:
        targets = self._features.targets[rows]
        views = random.integers(len(self._values), size=len(rows))
        x = self._head.prepare(self._values[views, rows].astype(np.float32))
        x *= dropout_mask(random, x.shape, self._parameters.dropout)
        hidden_mask = paddle.to_tensor(dropout_mask(random, (len(rows), _HIDDEN), _HIDDEN_DROPOUT))
        soft = smoothed(targets, self._class_count, self._parameters.smoothing)
        self._optimizer.set_lr(self._rate(at))
        logits = self._head(paddle.to_tensor(x), hidden_mask)
        # Thirty times as fast as log_softmax with a thousand classes; right only where each row of labels sums to 1.
        losses = F.cross_entropy(logits, paddle.to_tensor(soft), soft_label=True, reduction="none")
        loss = (losses.reshape([-1]) * paddle.to_tensor(self._class_weights[targets])).mean()
        loss.backward()
        self._optimizer.step()
        self._optimizer.clear_grad()
        return float(loss)

    def _rate(self, at: int) -> float:
        """Cosine from the full rate to nothing over all steps."""
        steps = math.ceil(len(self._features.targets) / _BATCH)
        done = (self.epoch * steps + at) / (self._epochs * steps)
        return self._parameters.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def _touch_optimizer(self) -> None:
        """Make AdamW create its moments, which it does in its first step; the step's effect is overwritten."""
        self._optimizer.set_lr(0.0)
        x, hidden_mask = paddle.ones([1, self._values.shape[-1]]), paddle.ones([1, _HIDDEN])
        self._head(x, hidden_mask).sum().backward()
        self._optimizer.step()
        self._optimizer.clear_grad()
