"""The health check of a container believes the service in it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from chassis.errors import ServerUnavailable
from chassis.health import health_server
from infra.docker import ready
from infra.local.ports import choose_ports


async def answers() -> None:
    """A server that is there."""


async def is_away() -> None:
    """A server that is not."""
    raise ServerUnavailable("bus_unavailable", "kafka:9092 does not answer")


@pytest.mark.parametrize(("probe", "status", "words"), [(answers, 0, '"ready"'), (is_away, 1, "kafka:9092")])
async def test_the_status_is_that_of_the_service(
    probe: Callable[[], Awaitable[None]],
    status: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = choose_ports({"health": 0}, {}, frozenset())["health"]
    server = health_server({"kafka": probe}, "127.0.0.1", port)
    monkeypatch.setenv("EASYLOOP_HEALTH_PORT", str(port))
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(10):
            while not server.started:
                await asyncio.sleep(0.01)
        assert await asyncio.to_thread(ready.main) == status
    finally:
        server.should_exit = True
        await serving
    assert words in capsys.readouterr().out


def test_a_port_where_nobody_listens_is_unhealthy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = choose_ports({"health": 0}, {}, frozenset())["health"]
    monkeypatch.setenv("EASYLOOP_HEALTH_PORT", str(port))
    assert ready.main() == 1
    assert "does not answer" in capsys.readouterr().out
