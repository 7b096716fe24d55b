"""What every command begins with: a client, a place to write, and faults as sentences."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError

import typer
from pydantic import ValidationError
from rich.console import Console

from easyloop.client import Client, connect
from easyloop.errors import EasyLoopError
from easyloop.suggesting import suggestion


@contextmanager
def session(ctx: typer.Context) -> Iterator[tuple[Client, Console]]:
    """A client and where to write; an EasyLoopError becomes its sentence and exit status 1."""
    make: Callable[[], Client] = ctx.obj or connect
    try:
        with make() as client:
            try:
                yield client, Console()
            except EasyLoopError as error:
                sentence = error.sentence + suggestion(client, error, ctx.params)
                raise EasyLoopError(error.code, sentence, error.status) from error
            except (ValidationError, JSONDecodeError) as error:
                sentence = f"{client.url} answered what is not understood; is it EasyLoop, and of this version?"
                raise EasyLoopError("answer_unclear", sentence) from error
    except EasyLoopError as error:
        typer.echo(error.sentence, err=True)
        raise typer.Exit(1) from error
