"""The health check of a container: status 0 when the service in it says that it is ready, 1 with its words if not.

`python -m infra.docker.ready`; the gateway answers on the same port as the health server of the others.
"""

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 8.0


def main() -> int:
    """Ask on loopback."""
    address = f"http://127.0.0.1:{os.environ['EASYLOOP_HEALTH_PORT']}/health/ready"
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        sys.stdout.write(error.read().decode())
        return 1
    except OSError as error:
        sys.stdout.write(f"{address} does not answer: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
