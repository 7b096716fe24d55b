"""What the gateway's handlers and routes are given."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chassis.blobs.sessions import UploadSessions
from chassis.deps import Deps
from chassis.documents.ports import Documents
from chassis.wake import Wake
from services.gateway.broadcast import Broadcast


@dataclass(frozen=True)
class GatewayDeps(Deps):
    """`read` holds the databases of other services by service name; the gateway only ever reads them.

    `sessions` are the uploads in parts.

    `archived` tells readers of the archive that it grew, `aliases_wake` the model pool that an alias moved;
    `alias_causes` holds the traceparent of the move by "model/alias", so that the load joins the run's trace;
    `tasks_ahead` names the task types of runs under way, whose inference runtime is loaded before their model comes.
    """

    read: Mapping[str, Documents]
    sessions: UploadSessions
    archived: Broadcast = field(default_factory=Broadcast)
    aliases_wake: Wake = field(default_factory=Wake)
    alias_causes: dict[str, str] = field(default_factory=dict)
    tasks_ahead: set[str] = field(default_factory=set)

    @property
    def ingest(self) -> Documents:
        """Data sets and imports."""
        return self.read["ingest"]

    @property
    def preprocess(self) -> Documents:
        """Versions of data sets."""
        return self.read["preprocess"]

    @property
    def registry(self) -> Documents:
        """Runs, models, their versions and aliases."""
        return self.read["registry"]
