"""The command line `easyloop`."""

import sys

import typer

from easyloop.commands import data, datasets, deadletters, doctor, events, models, publishing, runs

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, help="Make your own models: upload, train, publish."
)
app.add_typer(data.app, name="data")
app.add_typer(datasets.app, name="dataset")
app.add_typer(runs.app, name="run")
app.add_typer(models.app, name="model")
models.app.command("publish")(publishing.publish)
models.app.command("rollback")(publishing.roll_back)
models.app.command("history")(publishing.show_history)
models.app.command("policy")(publishing.policy)
app.command("predict")(models.predict)
app.add_typer(events.app, name="events")
app.add_typer(events.trace_app, name="trace")
app.add_typer(deadletters.app, name="dlq")
app.command("doctor")(doctor.doctor)


def main() -> None:
    """The console script; a Ctrl-C ends it quietly."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
