"""The folder of a job."""

import os
import time
from pathlib import Path

import pytest

from chassis.job_scratch import ABANDONED_S, job_scratch


def test_a_folder_is_empty_at_first_and_gone_at_the_end(tmp_path: Path) -> None:
    leftover = tmp_path / "jobs" / "job_1" / "half a file"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    with job_scratch(tmp_path, "job_1") as folder:
        assert list(folder.iterdir()) == []
        (folder / "file").touch()
    assert not folder.exists()


def test_it_is_gone_after_a_failure_too(tmp_path: Path) -> None:
    with pytest.raises(LookupError), job_scratch(tmp_path, "job_1") as folder:
        raise LookupError
    assert not folder.exists()


def test_folders_of_jobs_that_were_killed_long_ago_are_removed(tmp_path: Path) -> None:
    old, recent = tmp_path / "jobs" / "old", tmp_path / "jobs" / "recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
    moment = time.time() - ABANDONED_S - 60
    os.utime(old, (moment, moment))
    with job_scratch(tmp_path, "job_1"):
        assert not old.exists()
        assert recent.exists()
