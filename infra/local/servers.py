"""The three servers that everything stands on: bus, documents, objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.bus_runtime import BUS, BusPlace, BusRuntime
from infra.local.credentials import Credentials
from infra.local.document_store import DocumentStorePlace, prepare_document_store
from infra.local.object_store import ObjectStorePlace, prepare_object_store
from infra.local.ports import LOOPBACK
from infra.local.program import Program
from infra.local.readiness import Check, check_document_store, check_kafka, check_object_store

USUAL_PORTS: Mapping[str, int] = {
    BUS: 9092,
    "bus_controller": 9093,
    "mongo": 27017,
    "s3": 8333,
    "s3_master": 9333,
    "s3_volume": 8380,
    "s3_filer": 8888,
}
WITH_GRPC = frozenset({"s3", "s3_master", "s3_volume", "s3_filer"})


@dataclass(frozen=True)
class Servers:
    """The places of the three servers below one folder."""

    bus: BusPlace
    documents: DocumentStorePlace
    objects: ObjectStorePlace
    credentials: Credentials

    @classmethod
    def below(cls, folder: Path, ports: Mapping[str, int], credentials: Credentials) -> "Servers":
        """Places in `folder`, at the ports named as in USUAL_PORTS."""
        return cls(
            bus=BusPlace(folder / "kafka", ports[BUS], ports["bus_controller"]),
            documents=DocumentStorePlace(folder / "mongo", ports["mongo"]),
            objects=ObjectStorePlace(
                folder / "s3", ports["s3"], ports["s3_master"], ports["s3_volume"], ports["s3_filer"]
            ),
            credentials=credentials,
        )

    @property
    def kafka_address(self) -> str:
        """Bootstrap servers, host:port."""
        return f"{LOOPBACK}:{self.bus.port}"

    @property
    def s3_address(self) -> str:
        """The S3 endpoint, host:port, plain HTTP."""
        return f"{LOOPBACK}:{self.objects.s3_port}"

    def prepare(self, bus: BusRuntime) -> tuple[Program, ...]:
        """Write the settings of each server and describe its process. The bus comes last: see `format_bus`."""
        return (
            prepare_object_store(self.objects, self.credentials),
            prepare_document_store(self.documents),
            bus.prepare(self.bus),
        )

    def format_bus(self, bus: BusRuntime) -> None:
        """To be done before the bus starts; takes a second or two the first time, while the others start already."""
        bus.format(self.bus)

    def checks(self) -> dict[str, Check]:
        """The readiness check of each program, by its name."""
        keys = self.credentials
        return {
            "s3": lambda: check_object_store(self.s3_address, keys.s3_access_key, keys.s3_secret_key),
            BUS: lambda: check_kafka(self.kafka_address),
            "mongo": lambda: check_document_store(self.documents.uri),
        }
