"""The three servers that everything stands on: bus, documents, objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.credentials import Credentials
from infra.local.document_store import DocumentStorePlace, prepare_document_store
from infra.local.kafka import KafkaPlace, KafkaRuntime, format_kafka, prepare_kafka
from infra.local.object_store import ObjectStorePlace, prepare_object_store
from infra.local.ports import LOOPBACK
from infra.local.program import Program
from infra.local.readiness import Check, check_document_store, check_kafka, check_object_store

USUAL_PORTS: Mapping[str, int] = {
    "kafka": 9092,
    "kafka_controller": 9093,
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

    kafka: KafkaPlace
    documents: DocumentStorePlace
    objects: ObjectStorePlace
    credentials: Credentials

    @classmethod
    def below(cls, folder: Path, ports: Mapping[str, int], credentials: Credentials) -> "Servers":
        """Places in `folder`, at the ports named as in USUAL_PORTS."""
        return cls(
            kafka=KafkaPlace(folder / "kafka", ports["kafka"], ports["kafka_controller"]),
            documents=DocumentStorePlace(folder / "mongo", ports["mongo"]),
            objects=ObjectStorePlace(
                folder / "s3", ports["s3"], ports["s3_master"], ports["s3_volume"], ports["s3_filer"]
            ),
            credentials=credentials,
        )

    @property
    def kafka_address(self) -> str:
        """Bootstrap servers, host:port."""
        return f"{LOOPBACK}:{self.kafka.port}"

    @property
    def s3_address(self) -> str:
        """The S3 endpoint, host:port, plain HTTP."""
        return f"{LOOPBACK}:{self.objects.s3_port}"

    def prepare(self, bus: KafkaRuntime) -> tuple[Program, ...]:
        """Write the settings of each server and describe its process. Kafka comes last: see `format_bus`."""
        return (
            prepare_object_store(self.objects, self.credentials),
            prepare_document_store(self.documents),
            prepare_kafka(self.kafka, bus),
        )

    def format_bus(self, bus: KafkaRuntime) -> None:
        """To be done before Kafka starts; takes a second or two the first time, while the others start already."""
        format_kafka(self.kafka, bus)

    def checks(self) -> dict[str, Check]:
        """The readiness check of each program, by its name."""
        keys = self.credentials
        return {
            "s3": lambda: check_object_store(self.s3_address, keys.s3_access_key, keys.s3_secret_key),
            "kafka": lambda: check_kafka(self.kafka_address),
            "mongo": lambda: check_document_store(self.documents.uri),
        }
