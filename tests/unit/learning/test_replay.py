"""The same plan with the same seed gives the same model, to the bit, on the same machine."""

import json
import subprocess
import sys

import pytest

from learning.study import Candidate
from tests.unit.learning.maps import PLACE


def model_of(candidate: Candidate) -> str:
    command = [sys.executable, "-m", "tests.unit.learning.replayed_fit", json.dumps(candidate)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    return done.stdout.split()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("candidate", [{"head": "mlp", "smoothing": 0.1}, {"tail": PLACE, "mixup": 0.2}])
def test_two_processes_fit_the_same_model_on_all_cores(candidate: Candidate) -> None:
    models = {model_of(candidate) for _ in range(2)}
    assert len(models) == 1
    assert len(models.pop()) == 64
