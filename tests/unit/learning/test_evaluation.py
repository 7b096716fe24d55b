"""The report, on predictions whose figures can be worked out by hand."""

import json

import pytest

from learning.image_classification.evaluation import evaluate_classification
from learning.task import ClassInfo, Prediction, Score, Truth

CLASSES = [ClassInfo("c1", "Cat"), ClassInfo("c2", "Dog"), ClassInfo("c3", "Cow")]


def prediction(*scores: float) -> Prediction:
    pairs = sorted(zip(CLASSES, scores, strict=True), key=lambda pair: -pair[1])
    return Prediction(tuple(Score(each.id, each.name, score) for each, score in pairs))


TRUTHS = [Truth("s1", ("c1",)), Truth("s2", ("c1",)), Truth("s3", ("c2",)), Truth("s4", ("c2",))]
PREDICTIONS = [
    prediction(0.8, 0.1, 0.1),
    prediction(0.3, 0.6, 0.1),
    prediction(0.2, 0.7, 0.1),
    prediction(0.95, 0.04, 0.01),
]
REPORT = evaluate_classification(CLASSES, TRUTHS, PREDICTIONS, threshold=0.65)


def test_the_report_is_json() -> None:
    assert json.loads(json.dumps(REPORT)) == REPORT


def test_overall_figures() -> None:
    assert REPORT["accuracy"] == 0.5
    assert REPORT["top_k"] == {"1": 0.5, "3": 1.0}
    assert REPORT["macro_f1"] == pytest.approx(0.5)


def test_figures_of_a_class() -> None:
    cat = REPORT["classes"][0]
    assert (cat["name"], cat["precision"], cat["recall"], cat["support"]) == ("Cat", 0.5, 0.5, 2)


def test_a_class_without_test_samples_has_no_figures_and_is_named() -> None:
    cow = REPORT["classes"][2]
    assert (cow["f1"], cow["support"]) == (None, 0)
    sentences = {each["code"]: each["sentence"] for each in REPORT["findings"]}
    assert "Cow" in sentences["classes_untested"]
    assert "4 pictures" in sentences["few_test_samples"]


def test_the_confusion_has_truths_in_rows() -> None:
    assert REPORT["confusion"]["matrix"] == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_the_surest_mistakes_come_first() -> None:
    assert [(case["sha"], case["predicted"], case["score"]) for case in REPORT["worst_cases"]] == [
        ("s4", "c1", 0.95),
        ("s2", "c2", 0.6),
    ]


def test_what_lies_below_the_threshold_is_doubtful() -> None:
    assert REPORT["threshold"]["doubtful_share"] == 0.25
    assert REPORT["threshold"]["accuracy_above"] == pytest.approx(2 / 3)


def test_nothing_held_out_is_reported_not_invented() -> None:
    report = evaluate_classification(CLASSES, [], [], threshold=0.4)
    assert (report["accuracy"], report["macro_f1"], report["threshold"]["recommended"]) == (None, None, 0.4)
    assert report["findings"][0]["code"] == "no_test_samples"
    json.dumps(report)


def test_a_truth_outside_the_classes_is_an_error() -> None:
    with pytest.raises(ValueError, match="c9"):
        evaluate_classification(CLASSES, [Truth("s", ("c9",))], PREDICTIONS[:1], 0.5)
