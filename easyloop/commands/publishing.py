"""Commands about which version of a model answers: publish, roll back, look back, and the policy for new versions."""

from enum import StrEnum
from typing import Annotated

import typer

from easyloop import showing
from easyloop.commands.options import Actor
from easyloop.model_answers import PublishPolicy
from easyloop.session import session

Reason = Annotated[str, typer.Option(help="why, for the history")]


class Publish(StrEnum):
    """When a new version is published by itself."""

    ALWAYS = "always"
    IF_BETTER = "if_better"
    NEVER = "never"


def publish(
    ctx: typer.Context,
    model_id: str,
    version: int,
    alias: str = "production",
    reason: Reason = "",
    actor: Actor = "admin",
) -> None:
    """Let an alias name another version, forward or back."""
    with session(ctx) as (client, console):
        client.publish(model_id, version, alias=alias, reason=reason, actor=actor)
        showing.say(console, f"{alias} of {model_id} moves to version {version}")


def roll_back(
    ctx: typer.Context, model_id: str, alias: str = "production", reason: Reason = "", actor: Actor = "admin"
) -> None:
    """Go back to the version before the last move; a second time returns to where it was."""
    with session(ctx) as (client, console):
        done = client.rollback(model_id, alias=alias, reason=reason, actor=actor)
        showing.say(console, f"{alias} of {model_id} went back from version {done.from_version} to {done.version}")


def show_history(ctx: typer.Context, model_id: str, alias: str = "production") -> None:
    """What an alias named, newest first: since when, who moved it, and why."""
    with session(ctx) as (client, console):
        showing.alias_history(console, client.alias_history(model_id, alias))


def policy(
    ctx: typer.Context,
    model_id: str,
    publish: Annotated[Publish | None, typer.Option(help="when a new version is published by itself")] = None,
    metric: Annotated[str | None, typer.Option(help="what decides which is better; the task's own by default")] = None,
    min_gain: Annotated[float | None, typer.Option(help="how much better at least; 0.01 is one point of 100")] = None,
    min_test_samples: Annotated[int | None, typer.Option(help="judged on fewer, nothing is published")] = None,
    protect: Annotated[list[str] | None, typer.Option(help="a metric that must not get worse; repeatable")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="begin with the defaults, not with today's policy")] = False,
    actor: Actor = "admin",
) -> None:
    """Show when new versions of a model are published by themselves, or change it."""
    asked = {
        "publish": publish and publish.value,
        "metric": metric,
        "min_gain": min_gain,
        "min_test_samples": min_test_samples,
        "protect": protect,
    }
    changes = {name: value for name, value in asked.items() if value is not None}
    with session(ctx) as (client, console):
        found = PublishPolicy() if reset else client.policy(model_id)
        if changes or reset:
            found = found.model_copy(update=changes)
            client.set_policy(model_id, found, actor=actor)
        showing.policy(console, found)
