"""One SecantusDB process, which speaks the MongoDB protocol."""

from dataclasses import dataclass
from pathlib import Path

from infra.local.atomic_file import write_atomically
from infra.local.object_store import installed_command
from infra.local.ports import LOOPBACK
from infra.local.program import Program


@dataclass(frozen=True)
class DocumentStorePlace:
    """Where the store keeps its data and the port it takes."""

    folder: Path
    port: int

    @property
    def uri(self) -> str:
        """The address for clients. Retryable writes make this server ten times slower after some thousands."""
        return f"mongodb://{LOOPBACK}:{self.port}/?directConnection=true&retryWrites=false"


def prepare_document_store(place: DocumentStorePlace) -> Program:
    """Make the data folder and describe the process."""
    data = place.folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    # Naming a file keeps the server from taking settings out of the user's home or the current folder.
    settings = place.folder / "secantusd.toml"
    write_atomically(settings, "# All settings are given on the command line.\n")
    command = (
        str(installed_command("secantusd-py", "secantusdb")),
        "--config", str(settings),
        "--host", LOOPBACK,
        "--port", str(place.port),
        "--storage-path", str(data),
        # Without it acknowledged writes are lost when the process is killed.
        "--sync-on-commit",
        "--cache-size", "256M",
        "--log-level", "WARNING",
    )  # fmt: skip
    return Program(name="mongo", command=command, directory=place.folder, port=place.port)
