"""The settings file of supervisord, as text."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from infra.local.layout import Layout
from infra.local.program import Program

HEAD = """\
[unix_http_server]
file={socket}
chmod=0700

[supervisord]
logfile={logs}/supervisord.log
logfile_maxbytes=5MB
logfile_backups=2
pidfile={run}/supervisord.pid
childlogdir={logs}
directory={root}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""

# autostart: the start command decides what starts when. SIGTERM goes to the program alone, since services and Ray
# stop their own children in order; SIGKILL goes to the whole group, job processes included.
PROGRAM = """
[program:{name}]
command={command}
directory={directory}
environment={environment}
autostart=false
autorestart=true
startsecs=1
startretries=5
stopsignal=TERM
stopwaitsecs={stop_seconds}
stopasgroup=false
killasgroup=true
redirect_stderr=true
stdout_logfile={log}
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=3
"""


def render(layout: Layout, programs: Iterable[Program]) -> str:
    """The whole file. It contains secrets (the programs' environment)."""
    head = HEAD.format(
        socket=escape(str(layout.supervisor_socket)),
        logs=escape(str(layout.logs)),
        run=escape(str(layout.run)),
        root=escape(str(layout.root)),
    )
    return head + "".join(_section(program, layout.log_of(program.name)) for program in programs)


def _section(program: Program, log: Path) -> str:
    return PROGRAM.format(
        name=program.name,
        command=escape(shlex.join(program.command)),
        directory=escape(str(program.directory)),
        environment=escape(environment_text(program.environment)),
        stop_seconds=program.stop_seconds,
        log=escape(str(log)),
    )


def escape(text: str) -> str:
    """Supervisor expands %(name)s, so that a percent sign is written twice."""
    return text.replace("%", "%%")


def environment_text(environment: Mapping[str, str]) -> str:
    """`A="1",B="2"`, as supervisor reads it: nothing inside double quotes means anything else.

    Raises ValueError for a value with a double quote or a quote at its end, which it cannot read.
    """
    for name, value in environment.items():
        if '"' in value or value != value.strip("'"):
            raise ValueError(f"{name}: supervisor cannot pass on a value with these quotes")
    return ",".join(f'{name}="{value}"' for name, value in sorted(environment.items()))
