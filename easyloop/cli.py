"""The command line `easyloop`."""

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from easyloop import deleting, showing, watching
from easyloop.answers import Event, FilePrediction, Run
from easyloop.client import BATCH_FILES, Client
from easyloop.errors import EasyLoopError
from easyloop.resuming import Asked, Memory, Sending
from easyloop.session import session

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, help="Make your own models: upload, train, publish."
)
data_app = typer.Typer(no_args_is_help=True, help="Upload data.")
dataset_app = typer.Typer(no_args_is_help=True, help="Look at data sets and delete them.")
run_app = typer.Typer(no_args_is_help=True, help="Start and watch training runs.")
model_app = typer.Typer(no_args_is_help=True, help="Look at models, publish and delete them.")
events_app = typer.Typer(no_args_is_help=True, help="Watch what happens.")
trace_app = typer.Typer(no_args_is_help=True, help="See where the time went.")
for name, part in (
    ("data", data_app),
    ("dataset", dataset_app),
    ("run", run_app),
    ("model", model_app),
    ("events", events_app),
    ("trace", trace_app),
):
    app.add_typer(part, name=name)
dataset_app.command("delete")(deleting.delete_dataset)
model_app.command("delete")(deleting.delete_model)

Wait = Annotated[bool, typer.Option("--wait", help="Stay until it is over.")]


class Preset(StrEnum):
    """How hard to train."""

    FAST = "fast"
    BALANCED = "balanced"
    ACCURATE = "accurate"


class AutoTrain(StrEnum):
    """How hard to train when a version is ready."""

    OFF = "off"
    FAST = "fast"
    BALANCED = "balanced"
    ACCURATE = "accurate"


@data_app.command("upload")
def upload(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="a zip or tar with a folder of files a class, or a picture with --label")
    ],
    name: Annotated[str | None, typer.Option(help="of the new data set; the file's by default")] = None,
    dataset: Annotated[str | None, typer.Option(help="id of a data set to add a version to")] = None,
    auto_train: Annotated[AutoTrain, typer.Option(help="train as soon as the data is ready")] = AutoTrain.FAST,
    label: Annotated[str | None, typer.Option(help="class of a single file, and of files in no folder")] = None,
    wait: Wait = False,
) -> None:
    """Upload an archive: it becomes a version, and a model unless auto-train is off."""
    with session(ctx) as (client, console):
        if not file.is_file():
            raise EasyLoopError(
                "file_unreadable", f"{file} is not a file; name a zip with one folder of files a class."
            )
        asked = Asked(client.url, file, dataset or f"new {name or file.stem}", label)
        sending = Sending(client, Memory.of_user(), asked)
        if sending.begun is not None:
            parts = f"{len(sending.begun.arrived)} of {sending.begun.part_count} parts"
            showing.say(console, f"going on with the upload that was broken off: {parts} are there")
            dataset = sending.begun.dataset_id
        target = client.dataset(dataset) if dataset else client.create_dataset(name or file.stem, auto_train=auto_train)
        imported = watching.upload(console, file, lambda sent: sending.send(target.id, sent))
        showing.say(console, f"data set {target.id}, import {imported.id}")
        if not wait:
            showing.say(console, f"see: easyloop dataset show {target.id}")
            return
        version = client.wait_for_version(target.id, imported.id)
        showing.version(console, version)
        if target.auto_train != "off":
            _follow(client, console, client.automatic_run(target.id, version.version))


@dataset_app.command("list")
def list_datasets(ctx: typer.Context) -> None:
    """List the data sets, newest first."""
    with session(ctx) as (client, console):
        rows = [(one.id, one.name, one.task, str(one.last_version or 0), one.created_at) for one in client.datasets()]
        showing.table(console, ("data set", "name", "task", "versions", "created"), rows)


@dataset_app.command("show")
def show_dataset(ctx: typer.Context, dataset_id: str) -> None:
    """Show a data set, its versions, and what was refused."""
    with session(ctx) as (client, console):
        found, versions = client.dataset(dataset_id), client.versions(dataset_id)
        if versions:
            versions[0] = client.version(dataset_id, versions[0].version)
        showing.dataset(console, found, versions)


@run_app.command("start")
def start_run(
    ctx: typer.Context,
    dataset_id: str,
    version: Annotated[int | None, typer.Option(help="the newest usable one by default")] = None,
    preset: Preset = Preset.FAST,
    wait: Wait = False,
) -> None:
    """Train on a version."""
    with session(ctx) as (client, console):
        run = client.start_run(dataset_id, version=version, preset=preset)
        showing.say(console, f"run {run.id}")
        if wait:
            _follow(client, console, run)


@run_app.command("list")
def list_runs(
    ctx: typer.Context, dataset: Annotated[str | None, typer.Option(help="only of this data set")] = None
) -> None:
    """List the runs, newest first."""
    with session(ctx) as (client, console):
        showing.runs(console, client.runs(dataset))


@run_app.command("show")
def show_run(ctx: typer.Context, run_id: str, wait: Wait = False) -> None:
    """Show a run; with --wait, watch it until it is over."""
    with session(ctx) as (client, console):
        run = client.run(run_id)
        if wait:
            _follow(client, console, run)
        else:
            showing.run(console, run)


@run_app.command("cancel")
def cancel_run(ctx: typer.Context, run_id: str) -> None:
    """End a run without a model."""
    with session(ctx) as (client, console):
        client.cancel_run(run_id)
        showing.say(console, f"run {run_id} is being cancelled")


@model_app.command("list")
def list_models(ctx: typer.Context) -> None:
    """List the models, newest first."""
    with session(ctx) as (client, console):
        showing.models(console, client.models())


@model_app.command("show")
def show_model(ctx: typer.Context, model_id: str) -> None:
    """Show a model, its versions and what is published."""
    with session(ctx) as (client, console):
        found = client.model(model_id)
        showing.model(console, found, client.model_versions(model_id), client.aliases(model_id))


@model_app.command("publish")
def publish(
    ctx: typer.Context,
    model_id: str,
    version: int,
    alias: str = "production",
    reason: Annotated[str, typer.Option(help="for the history")] = "",
) -> None:
    """Let an alias name another version, forward or back."""
    with session(ctx) as (client, console):
        client.publish(model_id, version, alias=alias, reason=reason)
        showing.say(console, f"{alias} of {model_id} moves to version {version}")


@app.command("predict")
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


@events_app.command("tail")
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


def _follow(client: Client, console: Console, run: Run) -> None:
    ended = watching.follow_run(client, console, run.id)
    showing.run(console, ended)
    if ended.state != "succeeded":
        raise typer.Exit(1)


def main() -> None:
    """The console script; a Ctrl-C ends it quietly."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
