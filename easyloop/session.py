"""What every command begins with: a client, a place to write, and faults as sentences."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from easyloop.client import Client, connect
from easyloop.errors import EasyLoopError


@contextmanager
def session(ctx: typer.Context) -> Iterator[tuple[Client, Console]]:
    """A client and where to write; an EasyLoopError becomes its sentence and exit status 1."""
    make: Callable[[], Client] = ctx.obj or connect
    try:
        with make() as client:
            yield client, Console()
    except EasyLoopError as error:
        typer.echo(error.sentence, err=True)
        raise typer.Exit(1) from error
