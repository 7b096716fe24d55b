"""Reads from the databases of all services, and from the manifests they name, which blobs something still needs.

Who hands a reference on is read before who takes it: live runs first, then the services in the order of the flow, the
registry last. So a reference that moves meanwhile is seen in one place or the other.
"""

from collections.abc import Mapping

from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from chassis.documents.ports import Database, Filter
from chassis.errors import PermanentError
from chassis.failures import FailedEvent
from chassis.jobs import Job
from chassis.leases import LEASES
from chassis.manifests import named_keys
from chassis.unit_of_work import AGGREGATES, INBOX, OUTBOX
from schemas.base import BlobRef
from services.deletion_outcomes import LIVE
from services.ingest.records import Dataset
from services.ingest.references import References

SERVICES = ("gateway", "ingest", "preprocess", "hpo", "trainer", "evaluator", "registry")
"""In the order of the flow."""

RUNS = "runs"
PASSING = frozenset({INBOX, AGGREGATES, LEASES, "event_archive", "idempotency"})
"""What was, not what is: it outlives the things it tells of."""

LIVING: Mapping[str, Filter] = {
    OUTBOX: {"status": "pending"},
    Job.COLLECTION: {"status": {"$in": ["queued", "running"]}},
    FailedEvent.COLLECTION: {"status": {"$in": ["retrying", "parked", "dead"]}},
    RUNS: {"state": {"$in": list(LIVE)}},
    Dataset.COLLECTION: {"deleted_at": None},
}
"""Of these collections only some documents count; of all others, every one."""


async def read_documents(databases: Mapping[str, Database]) -> References:
    """References in documents. Raises ServerUnavailable."""
    found = References()
    runs = await databases["registry"].find(RUNS, LIVING[RUNS])
    found.note(runs)
    for service in SERVICES:
        database = databases[service]
        for collection in await database.collections():
            if collection not in PASSING:
                found.note(await database.find(collection, LIVING.get(collection, {})))
        for run in runs:
            # What a stage of a run handed on is in the event alone until the run ends, even when it was sent long ago.
            found.note(await database.find(OUTBOX, {"key": run["_id"]}))
    datasets = await databases["ingest"].find(Dataset.COLLECTION, LIVING[Dataset.COLLECTION])
    found.datasets |= {dataset["_id"] for dataset in datasets}
    return found


def follow(found: References, blobs: BlobStore, projects: set[str]) -> None:
    """Add what the manifests name, and the features that pointers of live data sets name. Blocking.

    Raises PermanentError when a manifest is lost: what it names is not known, so nothing may be called an orphan.
    """
    for ref in found.manifests.values():
        for key in named_keys(_read(ref, blobs)):
            found.add(key)
    for project in projects:
        for pointer in blobs.keys(f"projects/{project}/features/"):
            if found.needs(pointer):
                found.note(blobs.get_named(pointer).decode("utf-8", "replace"))


def _read(ref: BlobRef, blobs: BlobStore) -> bytes:
    try:
        return blobs.get(ref)
    except (BlobMissing, BlobDamaged) as error:
        sentence = f"A list of samples is lost ({error}); until it is there again, nothing is collected."
        raise PermanentError("manifest_lost", sentence) from error
