"""What to try next within a budget. Pure.

Heads come first: they cost seconds. What they find out about mirror images and uneven classes is taken over by the
tails, which cost minutes, and by the tails of larger backbones. Each stage is as large as what is left of the budget
allows after the final fit, and none is begun where nothing can be gained.
"""

from dataclasses import dataclass

import numpy as np

from learning.backbones.description import DEFAULT_BACKBONE
from learning.errors import PlanImpossibleError
from learning.image_classification.candidates import head_parameters, is_tail
from learning.image_classification.costs import Costs, map_bytes
from learning.image_classification.views import AUGMENTATION
from learning.search_space import draw
from learning.study import Candidate, End, Json, Stage, StudyState, TrialOutcome, choose

FOLDS = 4
_MIN_VIEWS = 2  # the picture and its mirror image, which a model may average
_AUGMENTATION_SEED = 0  # not the run's: features are to be found again by the next run
_ONE_FOLD_IS_ENOUGH = 600  # samples; a quarter of them judges well
_MOST_MAP_BYTES = 1_500_000_000
_HEADS_SHARE = 0.45  # of the budget, for features and heads
_TAIL_EPOCHS = (3, 8)  # least and most
_GROWN = 1.2  # times the pictures of the last whole search, from where on heads are searched again
_SAFETY = 0.9  # of the budget is planned with


@dataclass(frozen=True)
class Round:
    """A stage of tails: `backbone` and where it may be cut, the first that fits."""

    backbone: str
    places: tuple[str, ...]
    most_epochs: int


@dataclass(frozen=True)
class Preset:
    """views of each picture, heads to try, epochs of one, and the tails that may follow."""

    views: int
    heads: int
    epochs: int
    rounds: tuple[Round, ...]


# As many epochs behind the stride of stage 6 do better than fewer from before it, in the same time; and a picture with
# its mirror image does as well as further crops: see README.md.
_LITE0 = Round(DEFAULT_BACKBONE, ("6.2",), 5)
_PRESETS = {
    "fast": Preset(2, 3, 24, ()),
    "balanced": Preset(2, 3, 24, (_LITE0,)),
    "accurate": Preset(
        6, 12, 32, (Round(DEFAULT_BACKBONE, ("6.1", "6.2"), 8), Round("efficientnet-lite2", ("6.1", "6.2"), 8))
    ),
}
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


def next_stage(state: StudyState) -> Stage | End:
    """See `TaskPlugin.next_stage`."""
    preset = _preset(state)
    if not state.results:
        return _heads(state, preset)
    choice = choose(state.results)
    if choice is None:
        return End("No candidate could be trained.")
    if choice.outcome.accuracy * choice.outcome.judged > choice.outcome.judged - 0.5:
        return End(f"Every one of {choice.outcome.judged} judged pictures was told right: nothing more can be gained.")
    done = len(state.results) - 1
    if done >= len(preset.rounds):
        return End(f"The preset {state.preset} tries nothing further.")
    if done and state.results[-1].outcomes and choice.stage != state.results[-1].stage:
        return End("The last stage brought no gain, so nothing larger is tried.")
    return _tails(state, preset.rounds[done], choice.outcome)


def _preset(state: StudyState) -> Preset:
    if state.preset not in _PRESETS:
        known = ", ".join(_PRESETS)
        raise PlanImpossibleError("preset_unknown", f"There is no preset {state.preset!r}; choose one of: {known}.")
    if state.sample_count < 1 or state.class_count < 1:
        raise PlanImpossibleError("no_samples", "There is nothing to train on; add labelled pictures.")
    return _PRESETS[state.preset]


def _why_heads(state: StudyState, views: int) -> str:
    if state.earlier is not None and _proven(state) is not None:
        searched = state.earlier["sample_count"]
        return f"The head that won among {searched} pictures; with {state.sample_count} it need not be searched again."
    return f"Heads on the frozen network cost seconds; {views} views of each picture."


def _judging(state: StudyState) -> Json:
    return {"folds": FOLDS, "judged_folds": 1 if state.sample_count >= _ONE_FOLD_IS_ENOUGH else FOLDS}


def _proven(state: StudyState) -> Candidate | None:
    """The head that won the last whole search, where only little has come since."""
    if state.earlier is None or state.space is not None or is_tail(state.earlier["candidate"]):
        return None
    is_alike = state.sample_count <= state.earlier["sample_count"] * _GROWN
    return {name: value for name, value in state.earlier["candidate"].items() if name in _SPACE} if is_alike else None


def _candidates(state: StudyState, count: int) -> tuple[Candidate, ...]:
    random = np.random.default_rng(state.seed)
    if (earlier := _proven(state)) is not None:
        return (earlier,)
    if state.space is None:
        return *_STARTS, *(draw(_SPACE, random) for _ in range(count - len(_STARTS)))
    if unknown := sorted(set(state.space["parameters"]) - set(_SPACE)):
        known = ", ".join(sorted(_SPACE))
        sentence = f"Heads have no parameter {', '.join(unknown)}; there are: {known}. Correct the search space."
        raise PlanImpossibleError("space_unknown", sentence)
    drawn = tuple({**_STARTS[0], **draw(state.space["parameters"], random)} for _ in range(count))
    for candidate in drawn:
        head_parameters(candidate)  # raises now, with a sentence, what would else fail in each trial
    return drawn


def _heads(state: StudyState, preset: Preset) -> Stage:
    costs, judging = Costs.of(state.speeds), _judging(state)
    available = state.budget_seconds * _HEADS_SHARE
    samples, views = state.sample_count, preset.views
    proven = _proven(state)
    heads = state.space["trials"] if state.space else 1 if proven else preset.heads

    def seconds() -> float:
        trained = samples * judging["judged_folds"] * (1 - 1 / FOLDS) * heads / costs.cores
        features = costs.features(DEFAULT_BACKBONE, samples, views)
        return costs.start + features + costs.head_epochs(int(trained), preset.epochs)

    while not state.space and heads > len(_STARTS) and seconds() > available:
        heads -= 1
    while views > _MIN_VIEWS and seconds() > available:
        views -= 1
    maps = _maps(state, preset.rounds[0], views) if preset.rounds else None
    if maps is not None:
        views = min(views, maps[1])
    return Stage(
        name="heads",
        why=_why_heads(state, views),
        recipe=_recipe(DEFAULT_BACKBONE, views, maps[0] if maps else None),
        candidates=tuple({**candidate, **judging} for candidate in _candidates(state, heads)),
        epochs=preset.epochs,
        grace_epochs=max(1, preset.epochs // 4),
        reduction_factor=3,
        threads=1,
        expected_seconds=round(seconds(), 1),
    )


def _tails(state: StudyState, planned: Round, best: TrialOutcome) -> Stage | End:
    """One tail on all cores, with as many epochs as there is time for."""
    costs, judging = Costs.of(state.speeds), _judging(state)
    found = _maps(state, planned, state.results[0].stage.recipe["views"])
    if found is None:
        return End("There are too many pictures to keep the maps that a tail is trained from.")
    place, views = found
    recipe = _recipe(planned.backbone, views, place)
    is_there = any(result.stage.recipe == recipe for result in state.results)
    features = 0.0 if is_there else costs.features(planned.backbone, state.sample_count, views)
    passes = judging["judged_folds"] * (1 - 1 / FOLDS)
    trial = passes * costs.tail_epoch(planned.backbone, place, state.sample_count)
    fit = costs.tail_epoch(planned.backbone, place, state.sample_count)
    left = state.budget_seconds * _SAFETY - state.elapsed_seconds - features - 2 * costs.start - costs.end
    epochs = min(planned.most_epochs, int(left / (trial + fit)))
    if epochs < _TAIL_EPOCHS[0]:
        return End(f"The budget has no time left for fine-tuning {planned.backbone}.")
    taken_over: Json = {name: best.candidate[name] for name in ("mirror", "balance") if name in best.candidate}
    candidate: Candidate = {"tail": place, "smoothing": 0.1, "dropout": 0.2, **_CAUTIOUS, **taken_over, **judging}
    return Stage(
        name=f"tail of {planned.backbone}",
        why=f"Fine-tuning {planned.backbone} from block {place} on, {epochs} epochs: what the time allows.",
        recipe=recipe,
        candidates=(candidate,),
        epochs=epochs,
        grace_epochs=epochs,
        reduction_factor=3,
        threads=costs.cores,
        expected_seconds=round(costs.start + features + trial * epochs, 1),
    )


def _maps(state: StudyState, planned: Round, views: int) -> tuple[str, int] | None:
    """Place and views whose maps fit the disk; None where not even the least do."""
    for place in planned.places:
        fitting = _MOST_MAP_BYTES // map_bytes(planned.backbone, place, state.sample_count, 1)
        if fitting >= _MIN_VIEWS:
            return place, min(views, fitting)
    return None


def _recipe(backbone: str, views: int, maps: str | None) -> Json:
    recipe: Json = {"backbone": backbone, "precision": "int8", "augmentation": AUGMENTATION, "views": views}
    return {**recipe, "seed": _AUGMENTATION_SEED, "maps": maps}
