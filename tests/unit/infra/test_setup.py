"""The setup waits for servers that are still starting, and says so when one never comes."""

import pytest

from chassis.errors import ServerUnavailable
from infra.setup import patiently


class Starting:
    """A server that answers from the third call on."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    async def __call__(self) -> str:
        if self.refusals:
            self.refusals -= 1
            raise ServerUnavailable("bus_unavailable", "kafka:9092 does not answer")
        return "done"


async def test_a_server_that_is_starting_is_waited_for() -> None:
    assert await patiently(Starting(2), pause_s=0) == "done"


async def test_a_server_that_never_comes_is_named() -> None:
    with pytest.raises(ServerUnavailable, match="kafka:9092"):
        await patiently(Starting(1_000_000), patience_s=0, pause_s=0.001)
