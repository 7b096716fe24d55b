"""A search space for experts, from a YAML file."""

from pathlib import Path
from typing import Any

import yaml

from easyloop.errors import EasyLoopError

EXAMPLE = """trials: 8
parameters:
  head: {choice: [mlp, linear, cosine]}
  dropout: {uniform: [0, 0.5]}
  rate_factor: {loguniform: [0.3, 3]}
"""


def read_space(path: Path) -> dict[str, Any]:
    """As the platform takes it, which also judges it. Raises EasyLoopError."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EasyLoopError("space_unreadable", f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(document, dict):
        sentence = f"{path} holds no search space. One looks like this:\n{EXAMPLE}"
        raise EasyLoopError("space_invalid", sentence)
    return document
