"""Commands about data sets."""

from typing import Annotated

import typer

from easyloop import showing
from easyloop.commands.options import Yes, confirm_deletion
from easyloop.session import session

app = typer.Typer(no_args_is_help=True, help="Look at data sets and delete them.")


@app.command("list")
def list_datasets(ctx: typer.Context) -> None:
    """List the data sets, newest first."""
    with session(ctx) as (client, console):
        rows = [(one.id, one.name, one.task, str(one.last_version or 0), one.created_at) for one in client.datasets()]
        showing.table(console, ("data set", "name", "task", "versions", "created"), rows)


@app.command("show")
def show_dataset(ctx: typer.Context, dataset_id: str) -> None:
    """Show a data set, its versions, and what was refused."""
    with session(ctx) as (client, console):
        found, versions = client.dataset(dataset_id), client.versions(dataset_id)
        if versions:
            versions[0] = client.version(dataset_id, versions[0].version)
        showing.dataset(console, found, versions)


@app.command("delete")
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
        confirm_deletion(what, yes)
        client.delete_dataset(dataset_id, version)
        showing.say(console, f"deleted {what}")
