"""The seven services as programs of the stack."""

import os
import sys
from collections.abc import Mapping

from chassis.bus.ports import BusKind
from infra.local.layout import REPOSITORY, Layout
from infra.local.ports import LOOPBACK
from infra.local.program import Program
from infra.local.ray_head import RayPlace
from infra.local.servers import Servers

# In the order of the flow; they may start in any.
SERVICE_PORTS: Mapping[str, int] = {
    "ingest": 8081,
    "preprocess": 8082,
    "hpo": 8083,
    "trainer": 8084,
    "evaluator": 8085,
    "registry": 8086,
    "gateway": 8080,
}
BUCKET = "easyloop"


def service_programs(
    layout: Layout, servers: Servers, bus_kind: BusKind, ray: RayPlace, ports: Mapping[str, int]
) -> list[Program]:
    """One program a service; the gateway alone gets the admin key, hpo alone the way to Ray."""
    common = _common_environment(layout, servers, bus_kind)
    return [
        Program(
            name=name,
            command=(sys.executable, "-m", f"services.{name}.main"),
            directory=REPOSITORY,
            port=ports[name],
            environment={**common, **_own_environment(name, servers, ray, ports[name])},
        )
        for name in SERVICE_PORTS
    ]


def ready_url(port: int) -> str:
    """Where a service says whether it is ready."""
    return f"http://{LOOPBACK}:{port}/health/ready"


def _common_environment(layout: Layout, servers: Servers, bus_kind: BusKind) -> dict[str, str]:
    return {
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS": servers.kafka_address,
        "EASYLOOP_BUS_KIND": bus_kind,
        "EASYLOOP_MONGO_URI": servers.documents.uri,
        "EASYLOOP_S3_ENDPOINT": servers.s3_address,
        "EASYLOOP_S3_ACCESS_KEY": servers.credentials.s3_access_key,
        "EASYLOOP_S3_SECRET_KEY": servers.credentials.s3_secret_key,
        "EASYLOOP_S3_SECURE": "false",
        "EASYLOOP_S3_BUCKET": BUCKET,
        "EASYLOOP_DATA_DIR": str(layout.root),
        "EASYLOOP_BACKBONE_DIR": str(layout.backbones),
        # Paddle reads both when it is imported: the second keeps its matrix products off a slow path on AMD.
        "OMP_NUM_THREADS": str(os.cpu_count() or 1),
        "MKL_DEBUG_CPU_TYPE": "5",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(REPOSITORY),
    }


def _own_environment(name: str, servers: Servers, ray: RayPlace, port: int) -> dict[str, str]:
    own = {"EASYLOOP_INSTANCE": name}
    if name == "gateway":
        return {**own, "EASYLOOP_GATEWAY_PORT": str(port), "EASYLOOP_ADMIN_KEY": servers.credentials.admin_key}
    if name == "hpo":
        own |= {"EASYLOOP_RAY_ADDRESS": ray.address, **ray.environment}
    return {**own, "EASYLOOP_HEALTH_PORT": str(port)}
