"""A search space as plain JSON, so that it can travel in a plan: parameter name -> one of

    {"choice": [value, ...]}            each value equally likely
    {"uniform": [low, high]}            a float, low <= x < high
    {"loguniform": [low, high]}         a float whose logarithm is uniform; low > 0
    anything that is not such an object  a constant

A tuner turns it into its own objects; `draw` samples it without any.
"""

import math
from typing import Any

import numpy as np

from learning.errors import PlanImpossibleError
from learning.study import Candidate, Json

KINDS = ("choice", "uniform", "loguniform")


def kind_of(entry: Any) -> str:
    """ "choice", "uniform", "loguniform" or "constant"."""
    if isinstance(entry, dict) and len(entry) == 1:
        (kind,) = entry
        if kind in KINDS:
            return str(kind)
    return "constant"


def draw(space: Json, random: np.random.Generator) -> Candidate:
    """One candidate, every parameter drawn independently, in the order of their names."""
    return {name: _draw_one(name, space[name], random) for name in sorted(space)}


def _draw_one(name: str, entry: Any, random: np.random.Generator) -> Any:
    kind = kind_of(entry)
    if kind == "constant":
        return entry
    if kind == "choice":
        if not entry["choice"]:
            raise PlanImpossibleError("space_empty", f"The parameter {name} has no choices; give at least one.")
        return entry["choice"][int(random.integers(len(entry["choice"])))]
    low, high = entry[kind]
    if kind == "uniform":
        return float(random.uniform(low, high))
    return float(math.exp(random.uniform(math.log(low), math.log(high))))
