"""Uploads that nobody completed, and the records of those that were, go when their time is over."""

import asyncio
import logging

from chassis.clock import rfc3339
from chassis.errors import WriteConflict
from chassis.records import Repository
from services.gateway.deps import GatewayDeps
from services.gateway.uploads import Upload

log = logging.getLogger(__name__)

INTERVAL_S = 60.0


async def expire_uploads(deps: GatewayDeps) -> int:
    """How many went. Several gateways may do this at once."""
    over = await Repository(deps.database, Upload).find({"expires_at": {"$lte": rfc3339(deps.clock.now())}})
    return sum([await give_up(deps, upload) for upload in over])


async def give_up(deps: GatewayDeps, upload: Upload) -> bool:
    """Forget an upload, with the parts that arrived unless it was completed. Whether it was there as it is given.

    The record goes first: an upload whose session is gone cannot be completed any more.
    """
    try:
        async with deps.unit_of_work() as tx:
            if await tx.records(Upload).get(upload.id) != upload:
                return False
            await tx.records(Upload).delete(upload.id)
    except WriteConflict:  # it was completed, or given up by another, in this moment
        return False
    if upload.status == "open":
        await asyncio.to_thread(deps.sessions.abort, upload.session)
    return True


class UploadExpiry:
    """The loop that does it."""

    def __init__(self, deps: GatewayDeps, interval_s: float = INTERVAL_S) -> None:
        self._deps = deps
        self._interval_s = interval_s

    async def turn(self) -> None:
        """One look."""
        if count := await expire_uploads(self._deps):
            log.info("%d uploads are past their time and were given up", count)
        await asyncio.sleep(self._interval_s)
