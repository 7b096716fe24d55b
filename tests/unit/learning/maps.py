"""Maps made for tests: of classes that differ in where a channel is bright."""

from pathlib import Path

import numpy as np

from learning.backbones.efficientnet_lite import VARIANTS, cuts
from learning.image_classification.features import ImageFeatures, load_features
from learning.image_classification.shards import ShardHeader, write_shard

CLASSES = ("a", "b", "c")
BACKBONE = "efficientnet-lite0"
PLACE = "7.1"


def made_maps(folder: Path, per_class: int, seed: int = 0, views: int = 2) -> ImageFeatures:
    """`per_class` samples of each class with maps in front of the last block, classes in turn."""
    random = np.random.default_rng(seed)
    cut = cuts(VARIANTS[BACKBONE])[PLACE]
    recipe = {"backbone": BACKBONE, "precision": "int8", "views": views, "seed": 0, "maps": PLACE}
    shas = tuple(f"{seed:02x}{i:062x}" for i in range(per_class * len(CLASSES)))
    header = ShardHeader(recipe, shas, views, 8, cut.size)
    patterns = np.random.default_rng(99).normal(size=(len(CLASSES), cut.size)) * 0.8
    targets = np.arange(len(shas)) % len(CLASSES)
    maps = patterns[targets][:, None] + random.normal(size=(len(shas), views, cut.size))
    rows = np.concatenate([random.normal(size=(len(shas), views, 8)), maps], axis=2).astype(np.float16)
    path = folder / f"maps-{seed}-{per_class}-{views}"
    write_shard(path, header, iter(rows))
    return load_features([path], {sha: (CLASSES[t],) for sha, t in zip(shas, targets, strict=True)}, CLASSES, recipe)
