"""The pretrained network that features are computed by; built where it is not there yet."""

from pathlib import Path

from learning.backbones.description import DESCRIPTION_FILE, read_backbone
from services.hpo.study_job import Backbone


def ensure_backbone(folder: Path) -> Backbone:
    """The verified backbone in `folder`; building it takes about 20 seconds, once an installation.

    Raises ArtefactInvalidError for a damaged one.
    """
    if not (folder / DESCRIPTION_FILE).is_file():
        from learning.backbones.build_runner import build_backbone  # imports Paddle

        build_backbone(folder)
    return Backbone(folder, read_backbone(folder).files)
