"""The default backbone is built once a test session, calibrated by few pictures."""

import os
from pathlib import Path

import pytest

from learning.backbones.description import DEFAULT_BACKBONE

os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")  # read when Paddle is first imported, in whichever test
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def backbones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of backbones, with the default one in it."""
    from learning.backbones.build import build_backbone

    root = tmp_path_factory.mktemp("learning") / "backbones"
    build_backbone(root / DEFAULT_BACKBONE, picture_count=8)
    return root


@pytest.fixture(scope="session")
def backbone(backbones: Path) -> Path:
    """The folder of the default backbone."""
    return backbones / DEFAULT_BACKBONE
