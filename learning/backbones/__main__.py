"""`python -m learning.backbones ROOT [NAME ...]` builds backbones below the root, or verifies those that are there."""

import argparse
import logging
import sys
import time
from pathlib import Path

from learning.backbones.description import DEFAULT_BACKBONE
from learning.backbones.library import backbone_names, ensure_backbone


def main() -> int:
    """Build what the command line names; one line of result each on standard output."""
    parser = argparse.ArgumentParser(prog="python -m learning.backbones", description=__doc__)
    parser.add_argument("root", type=Path, help="each backbone is a new folder in it")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(backbone_names())}")
    options = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)  # the quantiser gives advice on each file
    for name in options.names or [DEFAULT_BACKBONE]:
        started = time.monotonic()
        backbone = ensure_backbone(options.root, name)
        sys.stdout.write(f"{backbone.name} version {backbone.version} ready ({time.monotonic() - started:.1f} s)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
