"""Which data sets can be trained on."""

import pytest

from learning.image_classification.checks import check_classes


@pytest.mark.parametrize(
    ("counts", "errors", "warnings"),
    [
        ({}, ["too_few_classes"], []),
        ({"a": 30}, ["too_few_classes"], []),
        ({"a": 30, "b": 1}, ["class_too_small"], ["classes_uneven"]),
        ({"a": 5, "b": 5}, [], ["class_small"]),
        ({"a": 25, "b": 500}, [], ["classes_uneven"]),
        ({"a": 25, "b": 400}, [], []),
    ],
)
def test_findings(counts: dict[str, int], errors: list[str], warnings: list[str]) -> None:
    findings = check_classes(counts)
    assert [each.code for each in findings if each.severity == "error"] == errors
    assert [each.code for each in findings if each.severity == "warning"] == warnings


def test_sentences_name_the_class_and_the_number() -> None:
    (finding,) = check_classes({"cats": 25, "Hündin": 1, "birds": 20})[:1]
    assert "Hündin (1)" in finding.sentence
    assert (finding.count, finding.examples) == (1, ("Hündin",))
