"""The commands that delete."""

from typing import Annotated

import typer

from easyloop import showing
from easyloop.session import session

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def delete_dataset(
    ctx: typer.Context,
    dataset_id: str,
    version: Annotated[int | None, typer.Option(help="only this version")] = None,
    yes: Yes = False,
) -> None:
    """Delete a data set, or one version of it, for good; models that were made from it stay."""
    with session(ctx) as (client, console):
        name = client.dataset(dataset_id).name
        what = f"data set {dataset_id} ({name})" if version is None else f"version {version} of {dataset_id} ({name})"
        _ask(what, yes)
        client.delete_dataset(dataset_id, version)
        showing.say(console, f"deleted {what}")


def delete_model(
    ctx: typer.Context,
    model_id: str,
    version: Annotated[int | None, typer.Option(help="only this version")] = None,
    yes: Yes = False,
) -> None:
    """Delete a model with its versions and aliases, or one version of it, for good."""
    with session(ctx) as (client, console):
        name = client.model(model_id).name
        what = f"model {model_id} ({name})" if version is None else f"version {version} of {model_id} ({name})"
        _ask(what, yes)
        client.delete_model(model_id, version)
        showing.say(console, f"deleted {what}")


def _ask(what: str, yes: bool) -> None:
    """Ends the command unless the answer is yes."""
    if not yes:
        typer.confirm(f"Delete {what} for good?", abort=True)
