"""Where a local stack keeps its files."""

import os
import stat
from pathlib import Path

import pytest

from infra.local.errors import StackError
from infra.local.layout import Layout, make_private


def test_the_data_folder_is_a_setting_and_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Layout.of({"EASYLOOP_DATA_DIR": "data"}).root == tmp_path / "data"
    assert Layout.of({}).root == tmp_path / ".easyloop"


def test_a_socket_lies_in_the_data_folder_when_its_path_is_short_enough() -> None:
    assert Layout(Path("/srv/easyloop")).supervisor_socket == Path("/srv/easyloop/run/supervisor.sock")


def test_a_long_data_folder_gets_a_socket_that_the_system_accepts() -> None:
    layout = Layout(Path("/srv") / ("long" * 30))
    assert len(os.fsencode(layout.supervisor_socket)) < 100
    assert layout.supervisor_socket != Layout(Path("/srv") / ("long" * 31)).supervisor_socket


def test_ray_has_room_for_its_sockets() -> None:
    assert len(os.fsencode(Layout(Path("/srv") / ("long" * 30)).short / "ray")) <= 40


def test_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    layout.make_folders()
    try:
        assert stat.S_IMODE(layout.root.stat().st_mode) == 0o700
        assert stat.S_IMODE(layout.short.stat().st_mode) == 0o700
    finally:
        layout.short.rmdir()


def test_a_link_that_somebody_laid_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "guessed").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StackError, match="belongs to somebody else"):
        make_private(tmp_path / "guessed")


@pytest.mark.parametrize("name", ["data #1", "data ;1", "100%", "it's", 'the "data"'])
def test_a_folder_that_supervisor_cannot_name_is_refused_with_the_way_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(StackError, match="set EASYLOOP_DATA_DIR"):
        Layout(tmp_path / name).make_folders()
    assert not (tmp_path / name).exists()
