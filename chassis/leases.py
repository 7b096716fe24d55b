"""Leases judged by an unchanged heartbeat.

Whoever wants a lease watches the holder's (fencing token, beat) pair on its own monotonic clock and takes over once the
pair has not moved for the lease's length: the wall clocks of two machines are never compared. Every taking raises the
fencing token, and a write made under an older token is refused (Kleppmann, "How to do distributed locking", 2016).
"""

from dataclasses import dataclass

from chassis.clock import Clock
from chassis.documents.ports import Database, DuplicateDocument

LEASES = "leases"


class HeartbeatWatch:
    """For how long has each holder's heartbeat stood still, seen from here?"""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def unchanged_for(self, holder: str, fence: int, beat: int) -> float:
        """Seconds since this watch first saw this very pair; 0 at the first look."""
        now = self._clock.monotonic()
        pair, since = self._seen.get(holder, ((-1, -1), now))
        if pair != (fence, beat):
            self._seen[holder] = ((fence, beat), now)
            return 0.0
        return now - since

    def forget(self, holder: str) -> None:
        """The holder is done."""
        self._seen.pop(holder, None)


@dataclass
class LeaderLease:
    """One active holder a service. `hold` is called over and over; between two calls less than `length_s` must pass."""

    database: Database
    name: str
    owner: str
    clock: Clock
    length_s: float = 6.0
    _watch: HeartbeatWatch | None = None
    _renewed: float = float("-inf")

    async def hold(self) -> bool:
        """Take or renew; whether this owner may act now."""
        if self.clock.monotonic() - self._renewed < self.length_s / 3:
            return True
        document = await self.database.get(LEASES, self.name)
        held = await self._first() if document is None else await self._renew_or_take(document)
        self._renewed = self.clock.monotonic() if held else float("-inf")
        return held

    async def release(self) -> None:
        """Let another take it at once; called on a clean stop."""
        self._renewed = float("-inf")
        await self.database.update(LEASES, self.name, {"owner": None}, expected={"owner": self.owner})

    async def _first(self) -> bool:
        try:
            await self.database.insert(
                LEASES, {"_id": self.name, "owner": self.owner, "fence": 1, "beat": 0, **self._now()}
            )
        except DuplicateDocument:
            return False
        return True

    async def _renew_or_take(self, document: dict[str, object]) -> bool:
        fence, beat = int(str(document["fence"])), int(str(document["beat"]))
        seen = {"owner": document["owner"], "fence": fence, "beat": beat}
        if document["owner"] == self.owner:
            return await self.database.update(LEASES, self.name, {"beat": beat + 1, **self._now()}, expected=seen)
        self._watch = self._watch or HeartbeatWatch(self.clock)
        if document["owner"] is not None and self._watch.unchanged_for(self.name, fence, beat) < self.length_s:
            return False
        taken = {"owner": self.owner, "fence": fence + 1, "beat": 0, **self._now()}
        return await self.database.update(LEASES, self.name, taken, expected=seen)

    def _now(self) -> dict[str, object]:
        """For people who want to know who is alive; no lease is judged by it."""
        return {"at": self.clock.now()}
