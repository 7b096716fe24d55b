"""Waiting with something to look at: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from easyloop.answers import Import, Run
from easyloop.client import Client
from easyloop.progress import Advance, Line, read
from easyloop.uploading import Sent


def upload(console: Console, archive: Path, send: Callable[[Sent], Import]) -> Import:
    """Send a file with a bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"upload {escape(archive.name)}", total=archive.stat().st_size)
        return send(lambda done: bar.update(task, completed=done))


def follow_run(client: Client, console: Console, run_id: str) -> Run:
    """Show the run's stages, progress and trials until it is over; the run as it ended."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[eta]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("waiting", total=1.0, eta="")
        for event in client.run_events(run_id):
            match read(event):
                case Advance(stage=stage, fraction=fraction, eta_s=eta_s):
                    eta = "" if eta_s is None else f"about {eta_s:.0f} s left"
                    bar.update(task, description=escape(stage), completed=fraction, eta=eta)
                case Line(text=text):
                    bar.console.print(escape(text), highlight=False, soft_wrap=True)
    return client.wait_for_run(run_id)
