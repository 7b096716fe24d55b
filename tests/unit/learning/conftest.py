"""The backbone is built once a test session, calibrated by few pictures."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")  # read when Paddle is first imported, in whichever test
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete backbone folder."""
    from learning.backbones.build_runner import build_backbone

    folder = tmp_path_factory.mktemp("learning") / "backbone"
    build_backbone(folder, picture_count=8)
    return folder
