"""The commands of the README work as they stand there, from top to bottom."""

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 800

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S)]


def commands_of(text: str) -> str:
    """All `sh` blocks as one script, without `make test`, inside which this very test runs."""
    blocks = [block for block in BLOCK.findall(text) if block.strip() != "make test"]
    return "set -euo pipefail\n" + "".join(blocks)


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    script = commands_of((REPOSITORY / "README.md").read_text())
    assert script.count("\n") > 8
    # Its own data folder, so that a platform in use is left alone: the README says .easyloop, which this replaces.
    data = tmp_path / "data"
    script = script.replace(".easyloop/", f"{data}/").replace(
        "--output openapi.json", f"--output {tmp_path}/openapi.json"
    )
    environment = {**os.environ, "EASYLOOP_DATA_DIR": str(data)}
    done = _run(["bash", "-c", script], environment)
    if done.returncode:
        _run(["make", "down"], environment)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert (tmp_path / "openapi.json").stat().st_size > 1000


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
