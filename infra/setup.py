"""Makes what the services expect to find: `python -m infra.setup` creates the topics and the bucket, and ends.

Run before the services of a new installation, and of a new version; what is there stays as it is. It waits for servers
that are still starting. Settings: those that every service has.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from chassis.bus.admin import create_topics
from chassis.composition import blob_store
from chassis.errors import ServerUnavailable
from chassis.runtime import run
from chassis.settings import ServiceSettings, load_settings
from chassis.topics import load_topics

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_S = 180.0
PAUSE_S = 1.0


async def set_up(settings: ServiceSettings) -> None:
    """Raises ServerUnavailable when a server does not come up in time."""
    made = await patiently(lambda: create_topics(settings.kafka_bootstrap_servers, load_topics()))
    log.info("topics made: %s", ", ".join(made) or "none, all are there")
    await patiently(lambda: asyncio.to_thread(blob_store(settings).ensure_bucket))
    log.info("bucket %s is there", settings.s3_bucket)


async def patiently(step: Callable[[], Awaitable[T]], *, patience_s: float = PATIENCE_S, pause_s: float = PAUSE_S) -> T:
    """Try the step until it succeeds; after `patience_s` its ServerUnavailable is raised."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    while True:
        try:
            return await step()
        except ServerUnavailable as error:
            if loop.time() + pause_s > deadline:
                raise
            log.info("%s; waiting %.0f s", error, pause_s)
        await asyncio.sleep(pause_s)


def main() -> None:
    """Read the settings and do it."""
    settings = load_settings(ServiceSettings)
    run("setup", settings.log_level, lambda: set_up(settings))


if __name__ == "__main__":
    main()
