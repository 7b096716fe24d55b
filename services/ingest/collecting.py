"""The process that removes blobs which nothing needs: of deleted things, and of work that was never committed.

Result: {"orphans", "orphan_bytes", "removed", "aborted"}. It may be killed and run again at any point.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from chassis.blobs.ports import BlobEntry, BlobMissing, BlobStore
from chassis.blobs.sessions import UploadSessions
from chassis.clock import Clock
from chassis.documents.ports import Database
from chassis.errors import PermanentError
from services.ingest.reading_references import follow, read_documents
from services.ingest.references import PROJECTS, References, orphans

OWNER_KEY = "easyloop/database"
"""Outside of `projects/`: names the database whose documents tell what in this bucket is needed."""


@dataclass(frozen=True)
class BlobCollector:
    """`grace` is how long after its last writing an object is left alone: a reference may still be on its way to it."""

    blobs: BlobStore
    sessions: UploadSessions
    clock: Clock
    grace: timedelta

    def look(self, needed: References) -> Iterator[BlobEntry]:
        """What nothing needs. Removes nothing."""
        return orphans(self.blobs.entries(PROJECTS), needed, self.clock.now(), self.grace)

    def collect(self, needed: References) -> dict[str, int]:
        """Remove it, and give up uploads in parts that nobody knows; the job's result."""
        counts = {"orphans": 0, "orphan_bytes": 0, "removed": 0}
        for entry in self.look(needed):
            counts["orphans"] += 1
            counts["orphan_bytes"] += entry.size
            counts["removed"] += self.remove(entry)
        return {**counts, "aborted": self._abort_sessions(needed)}

    def remove(self, entry: BlobEntry) -> bool:
        """Not what was written again since it was listed: somebody is about to refer to it. Whether it went."""
        try:
            is_same = self.blobs.entry(entry.key).modified_at == entry.modified_at
        except BlobMissing:
            return False
        if is_same:
            self.blobs.delete(entry.key)
        return is_same

    def _abort_sessions(self, needed: References) -> int:
        limit = self.clock.now() - self.grace
        opened = list(self.sessions.opened(PROJECTS))
        old = [one.session for one in opened if one.opened_at < limit and one.session.id not in needed.sessions]
        for session in old:
            self.sessions.abort(session)
        return len(old)


def refuse_bucket_of_another(blobs: BlobStore, database_id: str) -> None:
    """Raises PermanentError unless the bucket is this database's. One that is nobody's becomes it.

    Beside an empty or foreign database everything in a bucket would look like an orphan.
    """
    try:
        owner = blobs.get_named(OWNER_KEY).decode("utf-8", "replace")
    except BlobMissing:
        blobs.put_named(OWNER_KEY, database_id.encode(), "text/plain")
        return
    if owner != database_id:
        sentence = (
            f"The bucket belongs to database {owner}, this one is {database_id}: nothing in it is collected. Use the "
            f"database that belongs to it, or delete the object {OWNER_KEY} to say that this one is right."
        )
        raise PermanentError("bucket_of_another_database", sentence)


def run_collection(
    order: dict[str, Any], collector: BlobCollector, connect: Callable[[], Mapping[str, Database]]
) -> dict[str, int]:
    """The work of the job process. Raises PermanentError, ServerUnavailable."""
    refuse_bucket_of_another(collector.blobs, order["database_id"])
    needed = asyncio.run(_read(connect))
    follow(needed, collector.blobs, set(order["projects"]))
    return collector.collect(needed)


async def _read(connect: Callable[[], Mapping[str, Database]]) -> References:
    databases = connect()
    try:
        return await read_documents(databases)
    finally:
        await databases["ingest"].close()
