"""What the gateways serve. Written by the gateway to gateway.predictions."""

from typing import ClassVar

from pydantic import NonNegativeFloat, PositiveInt

from schemas.base import Event, Failure


class ModelDeployed(Event):
    """A gateway answers from this version from now on."""

    TYPE: ClassVar[str] = "easyloop.model.deployed.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    alias: str
    version: PositiveInt
    gateway: str
    load_seconds: NonNegativeFloat


class ModelDeployFailed(Event):
    """A gateway could not load the version and goes on answering from the one before."""

    TYPE: ClassVar[str] = "easyloop.model.deploy.failed.v1"
    KEY: ClassVar[str] = "model_id"

    model_id: str
    alias: str
    version: PositiveInt
    gateway: str
    failure: Failure
