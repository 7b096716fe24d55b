"""Becomes a Tansu broker: `tansu_runner.py BINARY URL`.

Each start has a cluster id of its own, which tells the services that what they sent before is gone.
"""

import os
import sys
import uuid


def main() -> None:
    """Replace this process by the broker."""
    binary, url = sys.argv[1:]
    options = {
        "--cluster-id": f"tansu-{uuid.uuid4().hex}",
        "--listener-url": url,
        "--advertised-listener-url": url,
        "--storage-engine": "memory://tansu/",
    }
    words = [word for option in options.items() for word in option]
    os.execv(binary, [binary, "broker", *words, "--silent"])  # noqa: S606 - the stack's own command, no shell


if __name__ == "__main__":
    main()
