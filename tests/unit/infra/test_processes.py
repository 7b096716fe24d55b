"""Processes of the machine, and how `status` shows them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local.log_tail import log_tail
from infra.local.process_tree import (
    Process,
    descendants,
    memory_megabytes,
    processes_with,
    running_processes,
    still_running,
)
from infra.local.status import Row, duration, table
from infra.local.supervisor_client import ProcessInfo

TREE = {
    1: Process(1, 0, 1024, "a"),
    2: Process(2, 1, 2048, "b"),
    3: Process(3, 2, 4096, "c"),
    9: Process(9, 1, 9999, "d"),
}


def test_descendants_are_found_parents_first() -> None:
    assert [process.pid for process in descendants(2, TREE)] == [2, 3]


def test_a_process_that_is_gone_has_no_descendants() -> None:
    assert descendants(77, TREE) == []


def test_memory_counts_the_children() -> None:
    assert memory_megabytes(2, TREE) == 6


def test_a_process_id_that_somebody_else_has_now_is_not_the_same_process() -> None:
    assert still_running([Process(2, 1, 0, "earlier"), TREE[3]], TREE) == [TREE[3]]


def test_this_process_is_among_the_running_ones() -> None:
    assert running_processes()[os.getpid()].rss_kilobytes > 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of a process")
def test_a_process_is_found_by_its_environment() -> None:
    environment = {**os.environ, "MARK_OF_A_TEST": "the value"}
    with subprocess.Popen(["/bin/cat"], env=environment, stdin=subprocess.PIPE) as process:
        try:
            assert [each.pid for each in processes_with("MARK_OF_A_TEST", "the value")] == [process.pid]
            assert processes_with("MARK_OF_A_TEST", "the") == []
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (185, "3m05s"), (7_620, "2h07m"), (356_400, "4d03h")]
)
def test_durations_are_short(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def test_the_table_shows_what_runs_and_what_does_not() -> None:
    rows = [
        Row("kafka", ProcessInfo("kafka", "RUNNING", 4711, 61), 9092, 170, ready=True),
        Row("s3", ProcessInfo("s3", "FATAL", 0, 0), 8333, 0, ready=False),
    ]
    assert table(rows).splitlines() == [
        "name   state     pid  port   MB  uptime  ready",
        "kafka  running  4711  9092  170   1m01s  yes",
        "s3     fatal       -     -    -       -  no",
        "170 MB in all",
    ]


def test_the_tail_of_a_log_prefers_lines_that_name_an_error(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    noise = [f"line {number}" for number in range(100)]
    log.write_text("\n".join(["ERROR address in use", *noise, "exiting"]), encoding="utf-8")
    assert log_tail(log) == "ERROR address in use\nexiting"


def test_the_tail_of_a_log_without_errors_is_its_end(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_text("\n".join(f"line {number}" for number in range(100)), encoding="utf-8")
    assert log_tail(log, lines=2) == "line 98\nline 99"


def test_a_log_that_is_not_there_has_no_tail(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "none.log") == ""
