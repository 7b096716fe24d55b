"""Commands that show what happened: events and traces."""

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from easyloop import showing
from easyloop.answers import Event
from easyloop.errors import EasyLoopError
from easyloop.session import session

app = typer.Typer(no_args_is_help=True, help="Watch what happens.")
trace_app = typer.Typer(no_args_is_help=True, help="See where the time went.")


@app.command("tail")
def tail_events(
    ctx: typer.Context,
    run: Annotated[str | None, typer.Option(help="all events of this run, until it is over")] = None,
    types: Annotated[list[str] | None, typer.Option("--type", help="only this type; may be repeated")] = None,
    after: Annotated[int | None, typer.Option(help="sequence number to begin after; the newest by default")] = None,
) -> None:
    """Print events as they come, one JSON object a line."""
    with session(ctx) as (client, console):
        if run:
            stream = _of_types(client.run_events(run, after or 0), types)
        else:
            stream = client.events(client.newest_event() if after is None else after, types or ())
        for event in stream:
            showing.say(console, json.dumps(event.model_dump(), ensure_ascii=False))


@trace_app.command("show")
def show_trace(ctx: typer.Context, run_id: str) -> None:
    """Show a run's trace as one tree: service, step, duration."""
    with session(ctx) as (client, console):
        spans = client.trace(run_id)
        if not spans:
            raise EasyLoopError("trace_empty", f"No spans of run {run_id} are written yet; try again in a moment.")
        showing.trace(console, spans)


def _of_types(events: Iterator[Event], types: list[str] | None) -> Iterator[Event]:
    return (event for event in events if not types or event.type in types)
