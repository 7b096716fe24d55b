"""Fixtures that every kind of test may ask for."""

from tests.servers import local_servers

__all__ = ["local_servers"]
