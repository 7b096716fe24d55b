"""The Python client: upload, train, watch, publish, predict.

with connect() as loop:
    dataset = loop.create_dataset("fruit")
    loop.upload(dataset.id, Path("fruit.zip"))
"""

from types import TracebackType
from typing import Self

import httpx

from easyloop.calls.data import DataCalls
from easyloop.calls.models import ModelCalls
from easyloop.calls.operations import OperationCalls
from easyloop.calls.publishing import PublishingCalls
from easyloop.calls.runs import RunCalls
from easyloop.discovery import Platform, find_platform
from easyloop.transport import Transport


def connect() -> "Client":
    """A client of the platform that the environment or the current folder names. Raises EasyLoopError."""
    return Client(find_platform())


class Client(DataCalls, RunCalls, ModelCalls, PublishingCalls, OperationCalls):
    """Every method raises EasyLoopError, whose sentence says what to do. `transport` replaces the network in tests."""

    def __init__(self, platform: Platform, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(Transport(platform, transport))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the platform answers."""
        return self._http.url

    def close(self) -> None:
        """Idempotent."""
        self._http.close()

    def pause(self) -> None:
        """Between two looks at something that is being waited for."""
        self._http.pause()
