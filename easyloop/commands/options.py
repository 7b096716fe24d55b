"""Options that several commands share."""

from typing import Annotated

import typer

Wait = Annotated[bool, typer.Option("--wait", help="Stay until it is over.")]
Actor = Annotated[str, typer.Option(help="who, for the history", envvar="USER")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def confirm_deletion(what: str, yes: bool) -> None:
    """Ends the command unless the answer is yes."""
    if not yes:
        typer.confirm(f"Delete {what} for good?", abort=True)
