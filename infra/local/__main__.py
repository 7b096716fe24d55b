"""`python -m infra.local up|down|status|restart`: the local stack from the command line."""

import argparse
import signal
import sys

from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.services import SERVICE_PORTS
from infra.local.stack import SERVER_NAMES, Stack
from infra.local.status import bus_in_words, read_status, table
from infra.local.stop import stop_stack
from infra.local.supervisor_client import Supervisor

NOT_UP = 3
INTERRUPTED = 130


def main() -> int:
    """Run one command. Returns 0, 1 after a failure, 3 when `status` finds something not ready, 130 after Ctrl-C."""
    arguments = _parser().parse_args()
    layout = Layout.of()
    try:
        return _run(arguments, layout)
    except StackError as error:
        sys.stderr.write(f"error: {error}\n")
        if error.log_tail:
            sys.stderr.write("".join(f"    {line}\n" for line in error.log_tail.splitlines()))
        return 1
    except KeyboardInterrupt:
        # From here on a second Ctrl-C would leave half of it running.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _say("\ninterrupted; stopping what was started")
        stop_stack(layout, _say)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.local", description="The local stack of EasyLoop.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start everything and wait until it is ready")
    up.add_argument("--servers-only", action="store_true", help="bus, documents and objects, without the services")
    commands.add_parser("down", help="stop everything; the data stays")
    commands.add_parser("status", help="what runs, on which port, with how much memory")
    restart = commands.add_parser("restart", help="stop and start one program")
    restart.add_argument("name", choices=[*SERVER_NAMES, "ray", *SERVICE_PORTS])
    return parser


def _run(arguments: argparse.Namespace, layout: Layout) -> int:
    match arguments.command:
        case "up":
            return _up(arguments, layout)
        case "down":
            stop_stack(layout, _say)
            return 0
        case "status":
            return _status(layout)
        case _:
            return _restart(arguments.name, layout)


def _up(arguments: argparse.Namespace, layout: Layout) -> int:
    # Imported here: it loads the clients of all servers, which the other commands do without.
    from infra.local.start import start_everything, start_servers

    _say(f"starting in {layout.root}")
    if arguments.servers_only:
        start_servers(layout, _say)
        _say(f"addresses: {layout.stack_file}   keys: {layout.secrets_file}")
    else:
        _welcome(start_everything(layout, _say))
    return 0


def _welcome(stack: Stack) -> None:
    _say(f"\nEasyLoop is at {stack.gateway_url}")
    _say(f"the admin key is admin_key in {stack.layout.secrets_file}")
    _say(f"logs are in {stack.layout.logs}")


def _status(layout: Layout) -> int:
    rows = read_status(layout)
    if not rows:
        _say(f"nothing runs for {layout.root}; `make up` starts it")
        return NOT_UP
    _say(table(rows))
    _say(bus_in_words(layout))
    return 0 if all(row.ready for row in rows) else NOT_UP


def _restart(name: str, layout: Layout) -> int:
    supervisor = Supervisor(layout)
    if not supervisor.alive():
        raise StackError("the stack", "it does not run", "start it with `make up`")
    supervisor.restart(name)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
