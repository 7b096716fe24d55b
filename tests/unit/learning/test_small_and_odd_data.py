"""Very few pictures, very many classes, very uneven ones: there is a model, and the report says how little it knows."""

import numpy as np

from learning.image_classification.evaluation import evaluate_classification
from learning.image_classification.features import ImageFeatures
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.training import run_fit, run_trial
from learning.study import Json
from learning.task import ClassInfo, Prediction, Score, Truth

DIMENSIONS = 32


def clouds(counts: list[int], noise: float = 0.4, seed: int = 0) -> ImageFeatures:
    """A cloud of features a class, in two views."""
    random = np.random.default_rng(seed)
    targets = np.repeat(np.arange(len(counts)), counts)
    centres = np.random.default_rng(3).normal(size=(len(counts), DIMENSIONS))
    values = centres[targets] + noise * random.normal(size=(2, len(targets), DIMENSIONS))
    shas = tuple(f"{seed}-{row}" for row in range(len(targets)))
    ids = tuple(f"c{number}" for number in range(len(counts)))
    recipe: Json = {"backbone": "efficientnet-lite0", "views": 2}
    return ImageFeatures(values.astype(np.float16), targets, shas, ids, recipe)


def recalls(features: ImageFeatures, candidate: Json, epochs: int, test: ImageFeatures) -> np.ndarray:
    """Of each class, of a model that was fitted on the features."""
    *_, last = run_fit(candidate, epochs, 0, features, None, "cpu")
    predicted = model_from_bytes(last.model).head.logits_of_views(test.values).argmax(axis=1)
    return np.array([(predicted[test.targets == each] == each).mean() for each in range(len(test.class_ids))])


def test_five_pictures_a_class_make_a_model_whose_report_says_how_little_is_known() -> None:
    features = clouds([5, 5])
    *_, report = run_trial({"head": "mlp"}, 8, 0, features, "cpu")
    assert report.judged == 10
    infos = [ClassInfo("c0", "A"), ClassInfo("c1", "B")]
    sure = [Prediction((Score(f"c{n}", "", 0.9), Score(f"c{1 - n}", "", 0.1))) for n in (0, 1)]
    judged = evaluate_classification(infos, [Truth("s0", ("c0",)), Truth("s1", ("c1",))], sure, 0.5)
    low, high = judged["accuracy_interval"]
    assert judged["accuracy"] == high == 1.0
    assert low < 0.4, "two right answers prove next to nothing"
    assert "Only 2 pictures were held out" in judged["findings"][0]["sentence"]


def test_a_thousand_classes_are_told_apart() -> None:
    features, test = clouds([4] * 1000), clouds([1] * 1000, seed=1)
    assert recalls(features, {"head": "linear"}, 12, test).mean() > 0.9


def test_a_class_a_hundred_times_rarer_is_not_forgotten_when_balanced() -> None:
    features, test = clouds([400, 400, 4], noise=1.2), clouds([50, 50, 50], noise=1.2, seed=1)
    plain, balanced = (recalls(features, {"head": "linear", "balance": each}, 8, test) for each in (False, True))
    assert balanced[2] > plain[2]
    assert balanced[2] > 0.6
    assert balanced[:2].min() > 0.8
