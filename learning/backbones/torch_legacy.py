"""Read weight files in PyTorch's legacy format (before 1.6) without PyTorch.

Source: the layout that `torch.load` calls legacy: three pickles (magic number, protocol, machine), one
with the state, in which tensors point to storages by persistent ids, one with the list of storage keys, then
per storage an int64 element count and the raw elements. Pickles can run code, so only the names that
such a file needs are resolved; anything else is refused.
"""

import collections
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from learning.errors import ArtefactInvalidError

_DTYPES: dict[str, type[np.generic]] = {
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "LongStorage": np.int64,
}
_HEADER_PICKLES = 3


@dataclass(frozen=True)
class _TensorReference:
    storage_key: str
    dtype: type[np.generic]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild_tensor(
    storage: tuple[Any, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _TensorReference:
    return _TensorReference(storage[2], _DTYPES[storage[1]], offset, shape, strides)


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Callable[..., Any] | str:
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module_name, global_name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module_name == "torch" and global_name in _DTYPES:
            return global_name
        raise ArtefactInvalidError(
            "weights_unsafe",
            f"The weight file asks for {module_name}.{global_name}, which weights do not need; use another file.",
        )

    def persistent_load(self, pid: Any) -> Any:
        return pid


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """All tensors of the state by name, as contiguous arrays. Raises ArtefactInvalidError."""
    with path.open("rb") as file:
        try:
            for _ in range(_HEADER_PICKLES):
                _RestrictedUnpickler(file).load()
            state: dict[str, _TensorReference] = _RestrictedUnpickler(file).load()
            keys: list[str] = _RestrictedUnpickler(file).load()
            storages = _read_storages(file, keys, {ref.storage_key: ref.dtype for ref in state.values()})
        except (pickle.UnpicklingError, EOFError, KeyError, ValueError) as error:
            raise ArtefactInvalidError(
                "weights_damaged",
                f"{path.name}: not a complete legacy weight file ({error}); install its package again.",
            ) from error
    return {name: _materialise(reference, storages) for name, reference in state.items()}


def _read_storages(file: BinaryIO, keys: list[str], dtypes: dict[str, type[np.generic]]) -> dict[str, NDArray[Any]]:
    storages: dict[str, NDArray[Any]] = {}
    for key in keys:
        count = int(np.frombuffer(file.read(8), np.int64)[0])
        raw = file.read(count * np.dtype(dtypes[key]).itemsize)
        storages[key] = np.frombuffer(raw, dtypes[key], count)
    return storages


def _materialise(reference: _TensorReference, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    flat = storages[reference.storage_key][reference.offset :]
    strides = [stride * flat.itemsize for stride in reference.strides]
    return np.lib.stride_tricks.as_strided(flat, reference.shape, strides).copy()
