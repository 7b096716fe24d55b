"""How long a run of each preset may take."""

from datetime import datetime, timedelta

from schemas.base import Preset
from schemas.run import Budget

SECONDS: dict[Preset, float] = {"fast": 120.0, "balanced": 300.0, "accurate": 1800.0}


def budget_of(preset: Preset, now: datetime) -> Budget:
    """The preset's budget, starting now."""
    seconds = SECONDS[preset]
    return Budget(preset=preset, seconds=seconds, deadline=now + timedelta(seconds=seconds))
