"""How much to do in a given time. Pure.

Costs are those of a slow two-core machine, so a plan seldom overruns; a faster one simply ends sooner.
"""

from learning.backbones.description import DEFAULT_BACKBONE
from learning.errors import PlanImpossibleError
from learning.image_classification.views import AUGMENTATION
from learning.task import Candidate, Json, StudyPlan

_MIN_VIEWS = 2  # the picture and its mirror image, which a model may average
STUDY_SHARE = 0.7  # of the budget; the rest is for the final fit, export and evaluation
_SECONDS_A_VIEW = 0.008
_SECONDS_A_PICTURE = 0.004  # decoding
_SECONDS_AN_EPOCH = 0.00008  # of one sample in one trial
_SECONDS_A_TRIAL = 1.0
_SECONDS_A_STUDY = 8.0  # starting the tuner
_PRESETS: dict[str, dict[str, int]] = {
    "fast": {"views": 2, "trials": 3, "epochs": 24, "folds": 0},
    "balanced": {"views": 4, "trials": 12, "epochs": 24, "folds": 3},
    "accurate": {"views": 8, "trials": 32, "epochs": 32, "folds": 3},
}
# Above, a tenth of the samples judges well enough, and cross-validation takes long.
_MAX_SAMPLES_FOR_FOLDS = 5000
_CAUTIOUS: Candidate = {"rate_factor": 1.0, "decay_factor": 1.0}
# Tried before anything is drawn: what did best on photographs and textures; one for where left is not right;
# one for uneven classes. A fast study ends with these: judged by few samples, a weaker head would win now and then.
_STARTS: tuple[Candidate, ...] = (
    {"head": "mlp", "smoothing": 0.1, "mirror": True, "dropout": 0.2, "balance": False, **_CAUTIOUS},
    {"head": "mlp", "smoothing": 0.1, "mirror": False, "dropout": 0.2, "balance": False, **_CAUTIOUS},
    {"head": "mlp", "smoothing": 0.1, "mirror": True, "dropout": 0.4, "balance": True, **_CAUTIOUS},
)
_SPACE: Json = {
    "head": {"choice": ["mlp", "mlp", "cosine", "linear"]},
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
    work = _fit_into(budget_seconds * STUDY_SHARE, _PRESETS[preset], sample_count)
    folds = {"folds": work["folds"]}
    return StudyPlan(
        task="image_classification",
        preset=preset,
        seed=seed,
        recipe={
            "backbone": DEFAULT_BACKBONE,
            "precision": "int8",
            "augmentation": AUGMENTATION,
            "views": work["views"],
            "seed": seed,
        },
        space={**_SPACE, **folds},
        starts=tuple({**start, **folds} for start in _STARTS),
        trials=work["trials"],
        epochs=work["epochs"],
        grace_epochs=max(1, work["epochs"] // 4),
        reduction_factor=3,
        expected_seconds=round(_seconds(sample_count, work), 1),
    )


def _fit_into(available: float, wanted: dict[str, int], samples: int) -> dict[str, int]:
    """Less work until it fits, in the order of what is missed least; the least possible where nothing does."""
    work = dict(wanted)
    if samples > _MAX_SAMPLES_FOR_FOLDS:
        work["folds"] = 0
    while work["trials"] > 2 * len(_STARTS) and _seconds(samples, work) > available:
        work["trials"] -= 1
    if _seconds(samples, work) > available:
        work["folds"] = 0
    while work["trials"] > len(_STARTS) and _seconds(samples, work) > available:
        work["trials"] -= 1
    while work["views"] > _MIN_VIEWS and _seconds(samples, work) > available:
        work["views"] -= 1
    return work


def _seconds(samples: int, work: dict[str, int]) -> float:
    features = samples * (_SECONDS_A_PICTURE + work["views"] * _SECONDS_A_VIEW)
    passes = max(1, work["folds"] - 1)  # each of k folds trains on (k - 1) / k of the samples
    search = work["trials"] * (_SECONDS_A_TRIAL + samples * work["epochs"] * passes * _SECONDS_AN_EPOCH)
    return _SECONDS_A_STUDY + features + search
