"""Commands about models: look, delete, predict."""

from pathlib import Path
from typing import Annotated

import typer

from easyloop import showing, showing_reports
from easyloop.calls.models import BATCH_FILES
from easyloop.commands.options import Yes, confirm_deletion
from easyloop.model_answers import FilePrediction
from easyloop.session import session

app = typer.Typer(no_args_is_help=True, help="Look at models, publish and delete them.")


@app.command("list")
def list_models(ctx: typer.Context) -> None:
    """List the models, newest first."""
    with session(ctx) as (client, console):
        showing.models(console, client.models())


@app.command("show")
def show_model(ctx: typer.Context, model_id: str) -> None:
    """Show a model, its versions and what is published."""
    with session(ctx) as (client, console):
        found = client.model(model_id)
        showing.model(console, found, client.model_versions(model_id), client.aliases(model_id))


@app.command("report")
def show_report(
    ctx: typer.Context,
    model_id: str,
    version: Annotated[int | None, typer.Option(help="the newest by default")] = None,
) -> None:
    """Show how well a version did on samples that it was not trained on, and what stood out."""
    with session(ctx) as (client, console):
        number = version or client.model(model_id).last_version
        showing_reports.report(console, client.report(model_id, number))


@app.command("delete")
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
        confirm_deletion(what, yes)
        client.delete_model(model_id, version)
        showing.say(console, f"deleted {what}")


def predict(
    ctx: typer.Context,
    model_id: str,
    files: Annotated[list[Path], typer.Argument(help="one or several")],
    top: Annotated[int, typer.Option(min=1, help="classes a file")] = 1,
    alias: str = "production",
) -> None:
    """Say what is in the files."""
    with session(ctx) as (client, console):
        found: list[FilePrediction] = []
        threshold = 0.0
        for start in range(0, len(files), BATCH_FILES):
            answer = client.predict(model_id, files[start : start + BATCH_FILES], top=top, alias=alias)
            threshold = answer.threshold
            found += answer.predictions
        showing.predictions(console, zip(map(str, files), found, strict=True), threshold)
