"""Settings from the environment: prefix EASYLOOP_, described, frozen, no secret has a default, none may be misspelt."""

import difflib
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.bus.ports import BusKind
from chassis.setting_names import SETTING_NAMES

PREFIX = "EASYLOOP_"


class MisspeltSetting(ValueError):
    """A variable with our prefix that nobody reads."""


class ServiceSettings(BaseSettings):
    """What every service needs to know."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    kafka_bootstrap_servers: str = Field(description="host:port of the brokers, separated by commas")
    bus_kind: BusKind = Field(default="kafka", description="what the brokers are: kafka, or tansu on one machine")
    mongo_uri: SecretStr = Field(description="MongoDB connection string, credentials included")
    s3_endpoint: str = Field(description="host:port of the S3 server")
    s3_access_key: SecretStr = Field(description="S3 access key")
    s3_secret_key: SecretStr = Field(description="S3 secret key")
    s3_secure: bool = Field(default=False, description="whether S3 is spoken over TLS")
    s3_bucket: str = Field(default="easyloop", min_length=3, description="the bucket of all blobs")
    data_dir: Path = Field(default=Path(".easyloop"), description="folder for traces and scratch files of this machine")
    bind_host: str = Field(
        default="127.0.0.1", min_length=1, description="address on which the service listens; 0.0.0.0 in a container"
    )
    health_port: int = Field(default=0, ge=0, le=65535, description="port of /health and /metrics; 0 takes a free one")
    otlp_endpoint: str | None = Field(
        default=None, description="OpenTelemetry collector, OTLP over HTTP; files when unset"
    )
    instance: str = Field(
        default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}", description="name of this process"
    )
    spare_job_after_s: float = Field(
        default=20.0, ge=0, description="idle seconds until a process is started ahead for the next job; inf for never"
    )
    failpoints: str = Field(
        default="", description="places where a test kills the process, e.g. trainer.after_checkpoint=kill_once"
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR")

    @property
    def trace_dir(self) -> Path:
        """Where spans are written when there is no collector."""
        return self.data_dir / "traces"

    @property
    def scratch_dir(self) -> Path:
        """Files that may be deleted whenever nothing runs."""
        return self.data_dir / "scratch"


S = TypeVar("S", bound=ServiceSettings)


def load_settings(model: type[S]) -> S:
    """Read the environment. Raises MisspeltSetting, or pydantic's error naming what is missing."""
    refuse_misspelt(os.environ, SETTING_NAMES)
    return model()


def refuse_misspelt(names: Iterable[str], known: Iterable[str]) -> None:
    """Every variable with our prefix must be one that some service reads."""
    for name in names:
        if name.startswith(PREFIX) and name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else "see .env.example for the names that exist"
            raise MisspeltSetting(f"{name} is not a setting of EasyLoop; {hint}")
