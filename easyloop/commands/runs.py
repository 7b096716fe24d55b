"""Commands about training runs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from easyloop import showing, watching
from easyloop.answers import Run
from easyloop.client import Client
from easyloop.commands.options import Wait
from easyloop.session import session
from easyloop.space_file import read_space

app = typer.Typer(no_args_is_help=True, help="Start and watch training runs.")


class Preset(StrEnum):
    """How hard to train."""

    FAST = "fast"
    BALANCED = "balanced"
    ACCURATE = "accurate"


@app.command("start")
def start_run(
    ctx: typer.Context,
    dataset_id: str,
    version: Annotated[int | None, typer.Option(help="the newest usable one by default")] = None,
    preset: Preset = Preset.FAST,
    space: Annotated[Path | None, typer.Option(help="for experts: a YAML file of what to try")] = None,
    wait: Wait = False,
) -> None:
    """Train on a version."""
    with session(ctx) as (client, console):
        wanted = read_space(space) if space else None
        run = client.start_run(dataset_id, version=version, preset=preset, space=wanted)
        showing.say(console, f"run {run.id}")
        if wait:
            follow(client, console, run)


@app.command("list")
def list_runs(
    ctx: typer.Context, dataset: Annotated[str | None, typer.Option(help="only of this data set")] = None
) -> None:
    """List the runs, newest first."""
    with session(ctx) as (client, console):
        showing.runs(console, client.runs(dataset))


@app.command("show")
def show_run(ctx: typer.Context, run_id: str, wait: Wait = False) -> None:
    """Show a run; with --wait, watch it until it is over."""
    with session(ctx) as (client, console):
        run = client.run(run_id)
        if wait:
            follow(client, console, run)
        else:
            showing.run(console, run)


@app.command("cancel")
def cancel_run(ctx: typer.Context, run_id: str) -> None:
    """End a run without a model."""
    with session(ctx) as (client, console):
        client.cancel_run(run_id)
        showing.say(console, f"run {run_id} is being cancelled")


def follow(client: Client, console: Console, run: Run) -> None:
    """Watch it until it is over; ends the command with status 1 unless it succeeded."""
    ended = watching.follow_run(client, console, run.id)
    showing.run(console, ended)
    if ended.state != "succeeded":
        raise typer.Exit(1)
