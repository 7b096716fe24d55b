"""A process for tests: fits the candidate of its first argument on made-up maps, and prints the hash of the model."""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"MKL_DEBUG_CPU_TYPE": "5", "OMP_NUM_THREADS": str(os.cpu_count() or 1)}

from learning.image_classification.training import run_fit
from tests.unit.learning.maps import made_maps

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        *_, last = run_fit(json.loads(sys.argv[1]), 2, 7, made_maps(Path(folder), per_class=40), None, "cpu")
    print(hashlib.sha256(last.model).hexdigest())  # noqa: T201 - the test reads it
