"""`python -m infra.demo [--data train.zip --test test.zip]`: upload, train, look, publish and ask; the time of each."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from easyloop import watching
from easyloop.answers import Run
from easyloop.client import Client, connect
from easyloop.errors import EasyLoopError
from easyloop.showing_reports import accuracy
from infra.demo.photographs import write_archives
from infra.demo.questions import Question, count_right, questions_of
from infra.demo.stopwatch import Stopwatch
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.start import start_everything

TASK = "image_classification"


def main() -> int:
    """Exit status 0 when a model was trained, published and asked."""
    arguments = _parser().parse_args()
    console = Console()
    try:
        layout = Layout.of()
        training, held_out = _archives(arguments, layout.root / "demo")
        stack = start_everything(layout, console.print)
        with connect() as client:
            walk(client, console, training, held_out)
        _where_next(console, stack.gateway_url)
    except (EasyLoopError, StackError) as error:
        console.print(f"the demo stopped: {error}", style="red", highlight=False)
        return 1
    return 0


def walk(client: Client, console: Console, training: Path, held_out: Path | None) -> None:
    """The four steps. Raises EasyLoopError when one of them fails."""
    watch = Stopwatch()
    console.print(f"\n[bold]1 upload[/bold]  {training.name}")
    dataset = client.create_dataset(training.stem, task=TASK, auto_train="fast")
    imported = watching.upload(console, training, lambda sent: client.upload(dataset.id, training, sent))
    watch.lap("upload")
    version = client.wait_for_version(dataset.id, imported.id)
    watch.lap("unpack, decode, check, split")
    counts = ", ".join(f"{one.name} {one.count}" for one in version.classes[:6])
    more = f" and {len(version.classes) - 6} more" if len(version.classes) > 6 else ""
    console.print(f"  {version.sample_count} photographs of {len(version.classes)} classes: {counts}{more}")
    console.print("\n[bold]2 train[/bold]  by itself, since the data set has auto_train=fast")
    run = watching.follow_run(client, console, client.automatic_run(dataset.id, version.version).id)
    model_id, number = _model_of(run)
    watch.stages(run)
    console.print(f"\n[bold]3 look[/bold]  easyloop model report {model_id}")
    _look(client, console, model_id, number)
    client.wait_until_served(model_id, number)
    watch.lap("load in the gateway")
    console.print("\n[bold]4 publish[/bold]  version 1 is published by itself")
    if held_out is not None:
        _ask(client, console, model_id, list(questions_of(held_out)), watch)
    watch.print(console)
    console.print(f"\nrun {run.id}, model {model_id}; the whole way as a tree: easyloop trace show {run.id}")


def _model_of(run: Run) -> tuple[str, int]:
    if run.state != "succeeded" or run.model_id is None or run.model_version is None:
        why = run.failure.sentence if run.failure else "no reason was given"
        raise EasyLoopError("run_not_succeeded", f"run {run.id} ended as {run.state}: {why}")
    return run.model_id, run.model_version


def _look(client: Client, console: Console, model_id: str, number: int) -> None:
    report = client.report(model_id, number)
    console.print(f"  on the part held out of the upload: accuracy {accuracy(report)}", highlight=False)


def _ask(client: Client, console: Console, model_id: str, questions: list[Question], watch: Stopwatch) -> None:
    answer = client.predict(model_id, [(questions[0].name, questions[0].content)], top=1)
    watch.lap("first prediction")
    right = count_right(client, model_id, questions)
    watch.lap(f"{len(questions)} predictions")
    console.print(
        f"  accuracy on {len(questions)} photographs that no training saw: [bold]{right / len(questions):.4f}[/bold] "
        f"({right} right, asked of version {answer.version})"
    )


def _where_next(console: Console, url: str) -> None:
    console.print(f"\nThe API and its documentation: {url}/docs   your own photographs: make demo DATA=train.zip")
    console.print("What runs: make status   the commands: .venv/bin/easyloop --help   stop everything: make down")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.demo", description=__doc__)
    parser.add_argument("--data", type=Path, help="a zip with one folder of photographs a class")
    parser.add_argument("--test", type=Path, help="as --data; never trained on, predicted at the end")
    return parser


def _archives(arguments: argparse.Namespace, folder: Path) -> tuple[Path, Path | None]:
    """What to upload and what to ask about: the user's own, else the photographs that a package ships."""
    if arguments.test and not arguments.data:
        raise EasyLoopError("test_without_data", "TEST is asked of a model trained on DATA; name that too: DATA=a.zip.")
    return (arguments.data, arguments.test) if arguments.data else write_archives(folder)


if __name__ == "__main__":
    sys.exit(main())
