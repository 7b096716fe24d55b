"""The backbones that there are, each in a folder of its own below one root, built when it is first needed."""

from pathlib import Path

from learning.backbones.description import DEFAULT_BACKBONE, DESCRIPTION_FILE, Backbone, read_backbone
from learning.backbones.efficientnet_lite import VARIANTS
from learning.errors import ArtefactInvalidError
from learning.study import Json


def backbone_names() -> tuple[str, ...]:
    """All of them, the smallest first."""
    return tuple(VARIANTS)


def backbone_folder(root: Path, name: str) -> Path:
    """Where it lies below the root. Raises ArtefactInvalidError for a name that is not there."""
    if name not in VARIANTS:
        known = ", ".join(backbone_names())
        raise ArtefactInvalidError("backbone_unknown", f"There is no backbone {name!r}; choose one of: {known}.")
    return root / name


def backbone_of(recipe: Json) -> str:
    """The name in a recipe; those of before there was a choice had none."""
    return str(recipe.get("backbone", DEFAULT_BACKBONE))


def ensure_backbone(root: Path, name: str) -> Backbone:
    """The verified backbone, built where it is not there yet (15 to 30 seconds, once an installation).

    Raises ArtefactInvalidError for a damaged one.
    """
    folder = backbone_folder(root, name)
    if not (folder / DESCRIPTION_FILE).is_file():
        from learning.backbones.build import build_backbone  # who finds one there needs no onnx

        build_backbone(folder, name)
    return read_backbone(folder)
