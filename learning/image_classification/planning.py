"""How much to do in a given time. Pure.

Costs are those of a slow two-core machine, so a plan seldom overruns; a faster one simply ends sooner.
"""

from typing import Any

from learning.errors import PlanImpossibleError
from learning.image_classification.views import AUGMENTATION
from learning.task import Candidate, Json, StudyPlan

_MIN_VIEWS = 2  # the picture and its mirror image, which a model may average
STUDY_SHARE = 0.7  # of the budget; the rest is for the final fit, export and evaluation
_SECONDS_A_VIEW = 0.008
_SECONDS_A_PICTURE = 0.004  # decoding
_SECONDS_AN_EPOCH = 0.00004  # of one sample in one trial
_SECONDS_A_TRIAL = 1.0
_SECONDS_A_STUDY = 8.0  # starting the tuner
_PRESETS: dict[str, dict[str, int]] = {
    "fast": {"views": 4, "trials": 4, "epochs": 24},
    "balanced": {"views": 6, "trials": 12, "epochs": 32},
    "accurate": {"views": 8, "trials": 32, "epochs": 40},
}
_CAUTIOUS: Candidate = {"rate_factor": 1.0, "decay_factor": 1.0, "dropout": 0.2, "balance": False}
# Tried before anything is drawn: what did best on photographs and textures, and one for where left is not right.
_STARTS: tuple[Candidate, ...] = (
    {"head": "mlp", "smoothing": 0.1, "mirror": True, **_CAUTIOUS},
    {"head": "cosine", "smoothing": 0.0, "mirror": True, **_CAUTIOUS},
    {"head": "mlp", "smoothing": 0.1, "mirror": False, **_CAUTIOUS},
)
_SPACE: Json = {
    "head": {"choice": ["cosine", "mlp", "linear"]},
    "rate_factor": {"loguniform": [0.4, 2.5]},
    "decay_factor": {"loguniform": [0.2, 5.0]},
    "dropout": {"uniform": [0.0, 0.5]},
    "smoothing": {"choice": [0.0, 0.1]},
    "balance": {"choice": [False, True]},
    "mirror": {"choice": [True, True, True, False]},
}


def plan_study(budget_seconds: float, preset: str, sample_count: int, class_count: int, seed: int) -> StudyPlan:
    """The preset's study, cut to fit: first trials, then views. Raises PlanImpossibleError."""
    if preset not in _PRESETS:
        raise PlanImpossibleError(
            "preset_unknown", f"There is no preset {preset!r}; choose one of: {', '.join(_PRESETS)}."
        )
    if sample_count < 1 or class_count < 1:
        raise PlanImpossibleError("no_samples", "There is nothing to train on; add labelled pictures.")
    wanted = _PRESETS[preset]
    available = budget_seconds * STUDY_SHARE
    views, trials, epochs = wanted["views"], wanted["trials"], wanted["epochs"]
    while trials > len(_STARTS) and _seconds(sample_count, views, trials, epochs) > available:
        trials -= 1
    while views > _MIN_VIEWS and _seconds(sample_count, views, trials, epochs) > available:
        views -= 1
    return StudyPlan(
        task="image_classification",
        preset=preset,
        seed=seed,
        recipe=_recipe(views, seed),
        space=_SPACE,
        starts=_STARTS,
        trials=trials,
        epochs=epochs,
        grace_epochs=max(1, epochs // 4),
        reduction_factor=3,
        expected_seconds=round(_seconds(sample_count, views, trials, epochs), 1),
    )


def _recipe(views: int, seed: int) -> dict[str, Any]:
    return {"precision": "int8", "augmentation": AUGMENTATION, "views": views, "seed": seed}


def _seconds(samples: int, views: int, trials: int, epochs: int) -> float:
    features = samples * (_SECONDS_A_PICTURE + views * _SECONDS_A_VIEW)
    search = trials * (_SECONDS_A_TRIAL + samples * epochs * _SECONDS_AN_EPOCH)
    return _SECONDS_A_STUDY + features + search
