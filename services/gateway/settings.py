"""What the gateway needs to know."""

from pydantic import Field, SecretStr

from chassis.settings import ServiceSettings


class GatewaySettings(ServiceSettings):
    """Sizes are in bytes."""

    gateway_port: int = Field(default=8080, ge=0, le=65535, description="port of the HTTP interface")
    admin_key: SecretStr = Field(min_length=16, description="the key that callers of the HTTP interface present")
    upload_max_bytes: int = Field(default=5 * 1024**3, gt=0, description="largest archive taken as an import")
    upload_keep_s: float = Field(
        default=7 * 24 * 3600.0, gt=0, description="seconds that an upload in parts may take before it is given up"
    )
    upload_idle_s: float = Field(
        default=60.0, gt=0, description="seconds without a byte after which a request's body is given up"
    )
    predict_max_bytes: int = Field(default=4_000_000, gt=0, description="largest file taken for one prediction")
    predict_max_files: int = Field(default=64, gt=0, description="most files in one prediction request")
    predict_threads: int = Field(default=2, gt=0, description="predictions computed at the same time")
    predict_queue: int = Field(
        default=256, gt=0, description="files that may wait for a prediction; more are answered 503"
    )
