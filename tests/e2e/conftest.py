"""A running platform, and what is needed to use it as people do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from easyloop.client import Client
from easyloop.discovery import Platform
from infra.demo.photographs import write_archives
from tests.servers import LocalStack, stack_in


@dataclass(frozen=True)
class Archives:
    """Photographs of three surfaces: what is uploaded, and what is asked about afterwards."""

    training: Path
    held_out: Path


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    return Archives(*write_archives(tmp_path_factory.mktemp("photographs")))


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The whole platform in a data folder and on ports of its own."""
    with stack_in(tmp_path_factory.mktemp("platform")) as stack:
        stack.up()
        yield stack


@pytest.fixture
def client(stack: LocalStack) -> Iterator[Client]:
    with client_of(stack) as client:
        yield client


def client_of(stack: LocalStack) -> Client:
    """A client with the stack's own key."""
    return Client(Platform(stack.gateway_url, stack.admin_key))
