"""Answers about the platform itself as text for people."""

import json
from collections.abc import Sequence

from rich.console import Console

from easyloop.operation_answers import Check, DeadLetter, DeadLetterDetail
from easyloop.showing import say, table


def checks(console: Console, found: Sequence[Check]) -> None:
    """One line a check."""
    rows = [(one.status, one.name, one.found, one.remedy) for one in found]
    table(console, ("", "what", "found", "what to do"), rows)


def dead_letters(console: Console, found: Sequence[DeadLetter]) -> None:
    """One line a letter."""
    rows = [(one.id, one.service, one.event_type, one.key, one.dead_at or "", one.failure.sentence) for one in found]
    table(console, ("dead letter", "service", "event", "about", "since", "why"), rows)


def dead_letter(console: Console, found: DeadLetterDetail) -> None:
    """Why it failed, the event, and what can be done."""
    say(console, f"{found.id}  {found.event_type} of {found.key}  ({found.service}, {found.status})")
    say(console, f"  {found.failure.code}: {found.failure.sentence}")
    tried = f"  attempts {found.attempts}, replays {found.replays}"
    say(console, tried + (f", given up {found.dead_at}" if found.dead_at else ""))
    say(console, f"  {found.topic}, partition {found.partition}, offset {found.offset}")
    for name, value in sorted(found.headers.items()):
        say(console, f"    {name}: {value}")
    data = found.data if isinstance(found.data, str) else json.dumps(found.data, indent=2, ensure_ascii=False)
    for line in data.splitlines():
        say(console, f"  {line}")
    for one in found.waiting:
        say(console, f"  behind it: {one.id} {one.event_type} ({one.status})")
    if found.status == "dead":
        say(console, f"  {found.obstacle.sentence if found.obstacle else f'try again: easyloop dlq replay {found.id}'}")
