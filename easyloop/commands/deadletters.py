"""Commands about events that services gave up on."""

from typing import Annotated

import typer
from rich.console import Console

from easyloop import showing_operations as showing
from easyloop.client import Client
from easyloop.commands.options import Actor, Wait
from easyloop.errors import EasyLoopError
from easyloop.operation_answers import DeadLetter
from easyloop.session import session
from easyloop.showing import say

app = typer.Typer(no_args_is_help=True, help="See what services gave up on, and let them try again.")

Service = Annotated[str | None, typer.Option(help="only those of this service")]


@app.command("list")
def list_dead_letters(ctx: typer.Context, service: Service = None) -> None:
    """List the dead letters, newest first."""
    with session(ctx) as (client, console):
        showing.dead_letters(console, client.dead_letters(service))


@app.command("show")
def show_dead_letter(ctx: typer.Context, failure_id: str) -> None:
    """Show a dead letter: why it failed, the event itself, and what waits behind it."""
    with session(ctx) as (client, console):
        showing.dead_letter(console, client.dead_letter(failure_id))


@app.command("replay")
def replay(
    ctx: typer.Context,
    failure_ids: Annotated[list[str] | None, typer.Argument(help="one or several")] = None,
    every: Annotated[bool, typer.Option("--all", help="all of --service")] = False,
    service: Service = None,
    wait: Wait = False,
    actor: Actor = "admin",
) -> None:
    """Let a service try again what it gave up on, once the cause is mended. No effect happens twice."""
    with session(ctx) as (client, console):
        letters = _chosen(client, failure_ids or [], service if every else None)
        replayed = [_replay(client, console, letter, wait, actor) for letter in letters]
        if not letters:
            say(console, f"{service} has no dead letters")
    if not all(replayed):
        raise typer.Exit(1)


def _chosen(client: Client, failure_ids: list[str], service: str | None) -> list[DeadLetter]:
    if bool(failure_ids) == bool(service):
        sentence = "Name the dead letters to replay, or --all with --service; 'easyloop dlq list' shows what there is."
        raise EasyLoopError("arguments_unclear", sentence)
    if service is not None:
        return client.dead_letters(service)[::-1]  # the oldest first, as they came
    return [client.dead_letter(failure_id) for failure_id in failure_ids]


def _replay(client: Client, console: Console, letter: DeadLetter, wait: bool, actor: str) -> bool:
    """Whether all is well so far; one that is refused does not keep the others from being replayed."""
    try:
        client.replay(letter.id, actor=actor)
    except EasyLoopError as error:
        if error.status != 409:
            raise
        say(console, f"{letter.id}: {error.sentence}")
        return False
    if not wait:
        say(console, f"{letter.id}: {letter.service} tries again; see: easyloop dlq show {letter.id}")
        return True
    after = client.wait_for_replay(letter)
    endings = {"done": "was handled", "dead": f"failed again: {after.failure.sentence}"}
    say(console, f"{letter.id}: {endings.get(after.status, 'is still being tried')}")
    return after.status == "done"
