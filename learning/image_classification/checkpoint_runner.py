"""All that a training needs to go on exactly, as bytes. Importing this module imports Paddle."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray


def write_checkpoint(
    epoch: int,
    parameters: Sequence[paddle.Tensor],
    optimizers: Sequence[Any],
    more: Mapping[str, NDArray[Any]] | None = None,
) -> bytes:
    """An .npz file in memory."""
    target = io.BytesIO()
    arrays = {f"p{i}": parameter.numpy() for i, parameter in enumerate(parameters)}
    arrays |= {f"o{i}": tensor.numpy() for i, tensor in enumerate(_tensors(optimizers))}
    np.savez(target, epoch=np.array(epoch), **arrays, **(more or {}))  # type: ignore[arg-type]  # numpy's stub sees a flag
    return target.getvalue()


def read_checkpoint(
    checkpoint: bytes, parameters: Sequence[paddle.Tensor], optimizers: Sequence[Any]
) -> tuple[int, dict[str, NDArray[Any]]]:
    """Set parameters and optimizers, which have made a step (only then they have moments); the epoch, and what else
    was stored.
    """
    with np.load(io.BytesIO(checkpoint), allow_pickle=False) as stored:
        for i, parameter in enumerate(parameters):
            parameter.set_value(stored[f"p{i}"])
        tensors = _tensors(optimizers)
        for i, tensor in enumerate(tensors):
            tensor.set_value(stored[f"o{i}"])
        own = {f"p{i}" for i in range(len(parameters))} | {f"o{i}" for i in range(len(tensors))} | {"epoch"}
        return int(stored["epoch"]), {name: stored[name] for name in stored.files if name not in own}


def _tensors(optimizers: Sequence[Any]) -> list[paddle.Tensor]:
    """Moments and powers in a fixed order; their names carry counters that differ between processes."""
    states = [optimizer.state_dict() for optimizer in optimizers]
    return [value for state in states for value in state.values() if isinstance(value, paddle.Tensor)]
