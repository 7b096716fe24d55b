"""`python -m learning.backbones FOLDER` builds the backbone folder, or verifies the one that is there."""

import argparse
import logging
import os
import sys
import time
from pathlib import Path


def main() -> int:
    """Build into the folder given on the command line; one line of result on standard output."""
    parser = argparse.ArgumentParser(prog="python -m learning.backbones", description=__doc__)
    parser.add_argument("folder", type=Path, help="new folder for the network files")
    folder: Path = parser.parse_args().folder
    os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from learning.backbones.build_runner import build_backbone  # after the environment that Paddle reads

    logging.getLogger().setLevel(logging.WARNING)  # the converters log each weight
    started = time.monotonic()
    backbone = build_backbone(folder)
    sys.stdout.write(f"{backbone.name} version {backbone.version} ready ({time.monotonic() - started:.1f} s)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
