"""The file that `study.completed` refers to as `winner`: written by hpo, read by the trainer."""

from typing import Any

from pydantic import PositiveFloat, PositiveInt

from schemas.base import Value

Candidate = dict[str, Any]


class WinnerCalibration(Value):
    """Fitted on samples the trial was not trained on: divide logits by `temperature`; doubt below `threshold`."""

    temperature: PositiveFloat
    threshold: float


class WinnerClass(Value):
    """A class, in the order of the model's outputs."""

    id: str
    name: str


class Winner(Value):
    """All that is needed to train the winning candidate again.

    `recipe` is what the features were computed by; `accuracy` and `loss` are those of the validation samples;
    `epochs` and `seed` are those of the trial.
    """

    task: str
    candidate: Candidate
    recipe: dict[str, Any]
    epochs: PositiveInt
    seed: int
    classes: list[WinnerClass]
    calibration: WinnerCalibration
    accuracy: float
    loss: float
