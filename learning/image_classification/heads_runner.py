"""Train heads on cached features with Paddle. Importing this module imports Paddle.

Deterministic on one machine, and a resumed training goes on exactly: every epoch seeds itself from (seed, epoch)
and the learning rate is a function of the step.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812  (the field's usual name)
from numpy.typing import NDArray
from paddle import nn

from learning.device import Device
from learning.image_classification.candidates import HeadParameters
from learning.image_classification.head_weights import HeadWeights

_BATCH = 256
_HIDDEN = 512  # units of the MLP
_HIDDEN_DROPOUT = 0.3
_START_GAIN = 2.5  # logarithm of the cosine head's gain
_BALANCE_BETA = 0.99  # Cui et al., Class-Balanced Loss (2019): effective number of samples


@dataclass(frozen=True)
class TrainingSet:
    """values: float [V, N, D]; targets: int64 [N] in 0..class_count-1."""

    values: NDArray[np.float16]
    targets: NDArray[np.int64]
    class_count: int


class _Dense(nn.Layer):  # type: ignore[misc]  # Paddle's classes are untyped here
    """linear and mlp: standardised features, then one or two layers."""

    def __init__(self, kind: str, data: TrainingSet) -> None:
        super().__init__()
        dimensions = data.values.shape[-1]
        flat = data.values.reshape(-1, dimensions)
        self.mean = flat.mean(0, dtype=np.float32)
        self.scale = (flat.std(0, dtype=np.float32) + np.float32(1e-3)).astype(np.float32)
        small = paddle.ParamAttr(initializer=nn.initializer.Normal(0, 1e-3))
        self.hidden = nn.Linear(dimensions, _HIDDEN) if kind == "mlp" else None
        self.out = nn.Linear(_HIDDEN if kind == "mlp" else dimensions, data.class_count, weight_attr=small)

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

    def __init__(self, data: TrainingSet) -> None:
        super().__init__()
        shape = [data.values.shape[-1], data.class_count]
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

    def __init__(self, data: TrainingSet, parameters: HeadParameters, epochs: int, seed: int, device: Device) -> None:
        paddle.disable_static()  # a thread's first use of Paddle may find it in static mode
        paddle.set_device(device)
        paddle.seed(seed)
        self._data, self._parameters, self._epochs, self._seed = data, parameters, epochs, seed
        self.epoch = 0
        if parameters.kind == "cosine":
            self._head = _Cosine(data)
        else:
            self._head = _Dense(parameters.kind, data)
        self._optimizer = paddle.optimizer.AdamW(
            parameters.learning_rate, parameters=self._head.parameters(), weight_decay=parameters.weight_decay
        )
        self._class_weights = self._balance()

    def run_epoch(self) -> float:
        """Train once over all samples, a random view of each; the mean loss."""
        random = np.random.default_rng([self._seed, self.epoch])
        losses = [self._step(rows, random, at) for at, rows in enumerate(self._batches(random))]
        self.epoch += 1
        return float(np.mean(losses))

    def weights(self) -> HeadWeights:
        """The head as it is now."""
        return HeadWeights(self._parameters.kind, self._parameters.is_mirrored, self._head.arrays())

    def checkpoint(self) -> bytes:
        """All that `restore` needs to go on exactly."""
        target = io.BytesIO()
        arrays = {f"p{i}": p.numpy() for i, p in enumerate(self._head.parameters())}
        arrays |= {f"o{i}": tensor.numpy() for i, tensor in enumerate(self._optimizer_tensors())}
        np.savez(target, epoch=np.array(self.epoch), **arrays)
        return target.getvalue()

    def restore(self, checkpoint: bytes) -> None:
        """Continue from a checkpoint of a training with the same arguments."""
        with np.load(io.BytesIO(checkpoint), allow_pickle=False) as stored:
            self._touch_optimizer()
            self.epoch = int(stored["epoch"])
            for i, parameter in enumerate(self._head.parameters()):
                parameter.set_value(stored[f"p{i}"])
            for i, tensor in enumerate(self._optimizer_tensors()):
                tensor.set_value(stored[f"o{i}"])

    def _batches(self, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        order = random.permutation(len(self._data.targets))
        for start in range(0, len(order), _BATCH):
            yield order[start : start + _BATCH]

    def _step(self, rows: NDArray[np.int64], random: np.random.Generator, at: int) -> float:
        data, smoothing = self._data, self._parameters.smoothing
        views = random.integers(len(data.values), size=len(rows))
        x = self._head.prepare(data.values[views, rows].astype(np.float32))
        x *= _dropout_mask(random, x.shape, self._parameters.dropout)
        hidden_mask = paddle.to_tensor(_dropout_mask(random, (len(rows), _HIDDEN), _HIDDEN_DROPOUT))
        hard = np.eye(data.class_count, dtype=np.float32)[data.targets[rows]]
        soft = hard * np.float32(1 - smoothing) + np.float32(smoothing / data.class_count)
        weighted = soft * self._class_weights[data.targets[rows], np.newaxis]
        self._optimizer.set_lr(self._rate(at))
        logits = self._head(paddle.to_tensor(x), hidden_mask)
        loss = -(paddle.to_tensor(weighted) * F.log_softmax(logits)).sum(1).mean()
        loss.backward()
        self._optimizer.step()
        self._optimizer.clear_grad()
        return float(loss)

    def _rate(self, at: int) -> float:
        """Cosine from the full rate to nothing over all steps."""
        steps = math.ceil(len(self._data.targets) / _BATCH)
        done = (self.epoch * steps + at) / (self._epochs * steps)
        return self._parameters.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def _balance(self) -> NDArray[np.float32]:
        counts = np.bincount(self._data.targets, minlength=self._data.class_count)
        if not self._parameters.is_balanced:
            return np.ones(len(counts), np.float32)
        each = (1 - _BALANCE_BETA) / (1 - _BALANCE_BETA ** np.maximum(counts, 1))
        return np.asarray(each / each[self._data.targets].mean(), np.float32)

    def _touch_optimizer(self) -> None:
        """Make AdamW create its moments, which it does in its first step; the step's effect is overwritten."""
        self._optimizer.set_lr(0.0)
        x, hidden_mask = paddle.ones([1, self._data.values.shape[-1]]), paddle.ones([1, _HIDDEN])
        self._head(x, hidden_mask).sum().backward()
        self._optimizer.step()
        self._optimizer.clear_grad()

    def _optimizer_tensors(self) -> list[paddle.Tensor]:
        """Moments and powers in a fixed order; their names carry counters that differ between processes."""
        state = self._optimizer.state_dict()
        return [value for name, value in state.items() if isinstance(value, paddle.Tensor)]


def _dropout_mask(random: np.random.Generator, shape: tuple[int, ...], rate: float) -> NDArray[np.float32]:
    """0 with probability `rate` (to 1/256), otherwise what keeps the mean. Paddle's own dropout is slow on a CPU."""
    dropped = round(rate * 256)
    is_kept = np.frombuffer(random.bytes(int(np.prod(shape))), np.uint8).reshape(shape) >= dropped
    return is_kept * np.float32(256 / (256 - dropped))
