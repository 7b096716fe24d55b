"""A folder for the files of one job, gone when the job ends, emptied when it is tried again."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ABANDONED_S = 24 * 3600.0


@contextmanager
def job_scratch(scratch_dir: Path, job_id: str) -> Iterator[Path]:
    """`<scratch_dir>/jobs/<job_id>`, empty at first. Folders that killed jobs left a day ago are removed too."""
    jobs = scratch_dir / "jobs"
    folder = jobs / job_id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _remove_abandoned(jobs)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(jobs: Path) -> None:
    limit = time.time() - ABANDONED_S
    for folder in jobs.iterdir():
        try:
            is_old = folder.stat().st_mtime < limit
        except FileNotFoundError:  # its job ended meanwhile
            continue
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)
