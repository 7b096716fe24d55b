"""The settings of supervisord, read back by supervisor's own parser."""

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from supervisor.options import ServerOptions

from infra.local.layout import Layout
from infra.local.program import Program
from infra.local.supervisor_config import environment_text, render

AWKWARD = {"QUOTE": "it's", "PERCENT": "100%", "COMMA": "a,b=c", "BACKSLASH": "a\\", "URI": "mongodb://h:1/?a=b&c=d"}


def read_back(folder: Path, program: Program) -> tuple[Any, Any]:
    """The settings of supervisord and of the one program, as supervisor understands them."""
    layout = Layout(folder)
    layout.run.mkdir(parents=True)
    layout.logs.mkdir()
    layout.supervisor_config.write_text(render(layout, [program]), encoding="utf-8")
    options = ServerOptions()
    options.realize(["-c", str(layout.supervisor_config)])
    return options, options.configroot.supervisord.process_group_configs[0].process_configs[0]


def a_program(folder: Path, **changes: Any) -> Program:
    values: dict[str, Any] = {"name": "kafka", "command": ("java",), "directory": folder, "port": 1}
    return Program(**{**values, **changes})


def test_an_environment_survives_however_awkward_its_values(tmp_path: Path) -> None:
    _, config = read_back(tmp_path, a_program(tmp_path, environment=AWKWARD))
    assert config.environment == AWKWARD


@pytest.mark.parametrize("argument", ["-Dx=100%", "/a folder/file", "it's", "a;b"])
def test_a_command_survives_however_awkward_its_arguments(tmp_path: Path, argument: str) -> None:
    _, config = read_back(tmp_path, a_program(tmp_path, command=("java", argument)))
    assert shlex.split(config.command) == ["java", argument]


@pytest.mark.parametrize("value", ['a"b', "'a'"])
def test_a_value_that_supervisor_would_change_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="NAME: supervisor cannot pass on"):
        environment_text({"NAME": value})


def test_a_folder_with_blanks_works(tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    folder.mkdir()
    _, config = read_back(folder, a_program(folder))
    assert config.directory == str(folder)
    assert config.stdout_logfile == str(folder / "logs" / "kafka.log")


def test_programs_start_only_when_told_and_again_after_a_crash(tmp_path: Path) -> None:
    _, config = read_back(tmp_path, a_program(tmp_path, stop_seconds=20))
    assert not config.autostart
    assert config.autorestart
    assert config.stopwaitsecs == 20


def test_sigterm_goes_to_the_program_and_sigkill_to_its_whole_group(tmp_path: Path) -> None:
    _, config = read_back(tmp_path, a_program(tmp_path))
    assert (config.stopasgroup, config.killasgroup) == (False, True)


def test_the_control_socket_is_for_the_owner_alone(tmp_path: Path) -> None:
    options, _ = read_back(tmp_path, a_program(tmp_path))
    (server,) = options.configroot.supervisord.server_configs
    assert server["chmod"] == 0o700
    assert server["file"] == os.fspath(Layout(tmp_path).supervisor_socket)
