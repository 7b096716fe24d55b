"""The command that looks for what is wrong."""

from typing import Annotated

import typer

from easyloop import local_programs, showing
from easyloop import showing_operations as showing_checks
from easyloop.client import Client
from easyloop.errors import EasyLoopError
from easyloop.operation_answers import Check
from easyloop.session import session


def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a check")] = False,
) -> None:
    """Look for what is wrong and say what to do; exit status 1 when something is."""
    with session(ctx) as (client, console):
        found = _examine(client)
        if as_json:
            for check in found:
                showing.say(console, check.model_dump_json())
        else:
            showing_checks.checks(console, found)
    if any(check.status == "error" for check in found):
        raise typer.Exit(1)


def _examine(client: Client) -> list[Check]:
    try:
        return client.doctor().checks
    except EasyLoopError as error:
        if error.code != "platform_down":
            raise
        gateway = Check(name="gateway", status="error", found=error.sentence)
        return [gateway, *local_programs.examine(client.url)]
