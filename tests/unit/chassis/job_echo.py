"""A job process for tests: behaves as its arguments say."""

import os
import signal
import sys
import time
from typing import Any

from chassis.errors import PermanentError
from chassis.job_process import JobContext, run_job
from chassis.settings import ServiceSettings


def work(context: JobContext) -> dict[str, Any]:
    """Reports, then ends as told."""
    print("a library talks on standard output")  # noqa: T201 - the very thing under test
    context.say({"attempt": os.getpid()})
    match context.args["then"]:
        case "fail":
            raise PermanentError("bad_data", "The data is bad.")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)  # ended by the worker, which the test waits for
    return {"answer": 42}


def prepare() -> None:
    """As loud as libraries are when they are imported."""
    print("a library is loaded")  # noqa: T201 - the very thing under test


if __name__ == "__main__":
    assert sys.argv[1] == "job"
    run_job("trainer", ServiceSettings(), {"echo": work}, prepare)
