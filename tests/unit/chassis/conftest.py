"""Fixtures of the chassis tests."""

import pytest


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops do not wait between two tries."""
    monkeypatch.setattr("chassis.consuming.PAUSE_S", 0.0)
