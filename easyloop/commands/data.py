"""Commands that upload."""

import difflib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from easyloop import showing, watching
from easyloop.commands.options import Wait
from easyloop.commands.runs import follow
from easyloop.errors import EasyLoopError
from easyloop.resuming import Asked, Memory, Sending
from easyloop.session import session

app = typer.Typer(no_args_is_help=True, help="Upload data.")


class AutoTrain(StrEnum):
    """How hard to train when a version is ready."""

    OFF = "off"
    FAST = "fast"
    BALANCED = "balanced"
    ACCURATE = "accurate"


@app.command("upload")
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
        _check_is_file(file)
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
            follow(client, console, client.automatic_run(target.id, version.version))


def _check_is_file(file: Path) -> None:
    if file.is_dir():
        raise EasyLoopError("file_unreadable", f"{file} is a folder; pack it into a zip, a folder of files a class.")
    if not file.is_file():
        near = difflib.get_close_matches(file.name, [one.name for one in file.parent.glob("*")], 1)
        question = f" Did you mean {file.parent / near[0]}?" if near else ""
        raise EasyLoopError("file_unreadable", f"There is no file {file}; name a zip, a tar or a picture.{question}")
