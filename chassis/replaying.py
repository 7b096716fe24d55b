"""Another attempt at a dead letter, from the first one. A handler of every service."""

import logging

from chassis.deps import Deps
from chassis.failures import FailedEvent
from chassis.unit_of_work import UnitOfWork
from schemas.deadletter import DeadLetterReplayRequested

log = logging.getLogger(__name__)


async def rearm(event: DeadLetterReplayRequested, deps: Deps) -> None:
    """Every service hears of it; the one that holds the row tries again. What is not dead there is left alone."""
    if event.service == deps.service:
        async with deps.unit_of_work(cause=event) as tx:
            await rearm_within(tx, event, deps)


async def rearm_within(tx: UnitOfWork, event: DeadLetterReplayRequested, deps: Deps) -> None:
    """For a handler that does more with the event in the same unit of work.

    The inbox still refuses what was already done. Later events of the key wait while this one is tried again.
    """
    row = await tx.records(FailedEvent).get(event.failure_id)
    if row is None or row.status != "dead":
        log.info("replay of %s: it is %s and is left alone", event.failure_id, row.status if row else "not here")
        return
    log.info("replay of %s (%s of %s), asked for by %s", row.id, row.event_type, row.key, event.actor)
    changes = {"status": "retrying", "attempts": 0, "replays": row.replays + 1, "next_attempt_at": deps.clock.now()}
    await tx.records(FailedEvent).save(row.changed(**changes))
