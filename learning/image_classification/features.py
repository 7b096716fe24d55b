"""Features of pictures for trainings: those of all views in memory, the maps where they lie on the disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.errors import ArtefactInvalidError
from learning.image_classification.shards import map_rows, read_header
from learning.study import Json


@dataclass(frozen=True)
class MapStore:
    """Maps in shards; picture i is row `rows[i, 1]` of shard `rows[i, 0]`. Pickled as paths, opened at use."""

    shards: tuple[Path, ...]
    dimensions: int
    map_size: int
    rows: NDArray[np.int64]
    _open: dict[Path, NDArray[np.float16]] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": {}}

    def batch(self, pictures: NDArray[np.int64], views: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32 [n, map_size] of these pictures, each in its view."""
        found = np.empty((len(pictures), self.map_size), np.float32)
        for at, (picture, view) in enumerate(zip(pictures, views, strict=True)):
            shard, row = self.rows[picture]
            found[at] = self._numbers(self.shards[shard])[row, view, self.dimensions :]
        return found

    def subset(self, pictures: NDArray[np.int64]) -> "MapStore":
        """Only these pictures."""
        return MapStore(self.shards, self.dimensions, self.map_size, self.rows[pictures])

    def _numbers(self, shard: Path) -> NDArray[np.float16]:
        if shard not in self._open:
            self._open[shard] = map_rows(shard)
        return self._open[shard]


@dataclass(frozen=True)
class ImageFeatures:
    """values: float16 [V, N, D], view 0 as predicted on. targets: int64 [N], indexes into class_ids.

    recipe: what they were computed by, backbone included; sets of different recipes do not mix. maps: None where the
    recipe asks for none.
    """

    values: NDArray[np.float16]
    targets: NDArray[np.int64]
    shas: tuple[str, ...]
    class_ids: tuple[str, ...]
    recipe: Json
    maps: MapStore | None = None

    def subset(self, shas: Sequence[str]) -> "ImageFeatures":
        """Only these samples, in this order; unknown ones are left out."""
        place = {sha: index for index, sha in enumerate(self.shas)}
        kept = [sha for sha in shas if sha in place]
        rows = np.array([place[sha] for sha in kept], np.int64)
        maps = self.maps.subset(rows) if self.maps else None
        return ImageFeatures(self.values[:, rows], self.targets[rows], tuple(kept), self.class_ids, self.recipe, maps)


def load_features(
    shards: Sequence[Path], labels: Mapping[str, tuple[str, ...]], class_ids: Sequence[str], recipe: Json
) -> ImageFeatures:
    """Of the shards' pictures those that have labels, in the order of the labels; see `TaskPlugin.load_features`."""
    places: dict[str, tuple[int, int]] = {}
    headers = [read_header(path)[0] for path in shards]
    full = [header.recipe for header in headers]
    if any(each != full[0] or not _is_of(each, recipe) for each in full):
        raise ArtefactInvalidError(
            "features_differ", "The features were computed by another recipe; compute them again."
        )
    for shard, header in enumerate(headers):
        places |= {sha: (shard, row) for row, sha in enumerate(header.shas) if sha in labels}
    shas = tuple(sha for sha in labels if sha in places)
    rows = np.array([places[sha] for sha in shas], np.int64).reshape(-1, 2)
    views, dimensions, map_size = (
        (headers[0].views, headers[0].dimensions, headers[0].map_size) if headers else (int(recipe["views"]), 0, 0)
    )
    values = np.empty((views, len(shas), dimensions), np.float16)
    for shard, path in enumerate(shards):
        here = np.flatnonzero(rows[:, 0] == shard)
        values[:, here] = map_rows(path)[rows[here, 1], :, :dimensions].transpose(1, 0, 2)
    maps = MapStore(tuple(shards), dimensions, map_size, rows) if map_size else None
    targets = _targets([labels[sha] for sha in shas], class_ids)
    return ImageFeatures(values, targets, shas, tuple(class_ids), full[0] if full else recipe, maps)


def _is_of(full: Json, recipe: Json) -> bool:
    """Whether the recipe asked for, without the hash of the backbone, is that of the shard."""
    return {**full, **recipe} == full


def _targets(labels: Sequence[tuple[str, ...]], class_ids: Sequence[str]) -> NDArray[np.int64]:
    index_of = {class_id: index for index, class_id in enumerate(class_ids)}
    strangers = sorted({each[0] for each in labels} - set(class_ids))
    if strangers:
        sentence = f"Samples are labelled with {', '.join(strangers)}, which the data set does not have; save it again."
        raise ArtefactInvalidError("labels_unknown", sentence)
    return np.array([index_of[each[0]] for each in labels], np.int64)
