"""Writing on behalf of a caller: one transaction, run again when another was first, once per Idempotency-Key.

Idempotency-Key follows the IETF draft of that name (draft-ietf-httpapi-idempotency-key-header).
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from chassis.documents.ports import DuplicateDocument, Index
from chassis.errors import WriteConflict
from chassis.unit_of_work import UnitOfWork
from services.gateway.deps import GatewayDeps

COLLECTION = "idempotency"
KEEP_S = 24 * 3600
INDEXES = (Index(COLLECTION, ("at",), expire_after_s=KEEP_S),)

ATTEMPTS = 10
PAUSE_S = 0.02


class KeyReused(Exception):
    """The Idempotency-Key came before, with another payload."""


@dataclass(frozen=True)
class Accepted:
    """What a caller is told: where to look, and the resource as it stands."""

    location: str
    answer: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call as idempotency sees it; `key` is None when the caller sent none."""

    key: str | None
    payload: str

    @classmethod
    def of(cls, key: str | None, method: str, path: str, body: dict[str, Any]) -> "Call":
        """`payload` is a hash over everything that makes two calls the same."""
        text = json.dumps([method, path, body], sort_keys=True, ensure_ascii=False)
        return cls(key, hashlib.sha256(text.encode()).hexdigest())


Write = Callable[[UnitOfWork], Awaitable[Accepted]]


async def write_once(deps: GatewayDeps, call: Call, write: Write) -> Accepted:
    """Commit `write`, or repeat what an earlier call with this key was told. Raises KeyReused, ServerUnavailable."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with deps.unit_of_work() as tx:
                if (known := await _known(tx, call)) is not None:
                    return known
                accepted = await write(tx)
                await _remember(tx, deps, call, accepted)
            return accepted
        except (WriteConflict, DuplicateDocument):
            # Either another call wrote the same aggregate, or one with the same key was first: look again.
            if attempt == ATTEMPTS:
                raise
            await asyncio.sleep(PAUSE_S * attempt)
    raise AssertionError("the loop above returns or raises")


async def _known(tx: UnitOfWork, call: Call) -> Accepted | None:
    if call.key is None:
        return None
    row = await tx.documents.get(COLLECTION, _row_id(call.key))
    if row is None:
        return None
    if row["payload"] != call.payload:
        raise KeyReused
    return Accepted(row["location"], row["answer"])


async def _remember(tx: UnitOfWork, deps: GatewayDeps, call: Call, accepted: Accepted) -> None:
    if call.key is None:
        return
    row = {
        "_id": _row_id(call.key),
        "payload": call.payload,
        "location": accepted.location,
        "answer": accepted.answer,
        "at": deps.clock.now(),
    }
    await tx.documents.insert(COLLECTION, row)


def _row_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
