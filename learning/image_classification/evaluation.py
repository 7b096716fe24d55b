"""The report on a test set. Pure: truths and predictions in, JSON out.

Shape of the report:
    task, sample_count, accuracy, macro_f1, macro_precision, macro_recall, log_loss, calibration_error,
    top_k {"1", "3", "5"}: share of samples whose class is among the best k
    classes [{id, name, precision, recall, f1, support}]
    confusion {class_ids, matrix}: matrix[i][j] = samples of class i predicted as class j
    threshold {used, doubtful_share, accuracy_above, recommended, rule}
    worst_cases [{sha, truth, predicted, score, truth_score}]: mistakes, the surest first
    findings [{code, severity, sentence}]
    accuracy_interval, macro_f1_interval: [low, high], with 95 % confidence
    reliability [{from, to, count, confidence, accuracy}]: how sure predictions were, and how often right
    threshold.for_precision [{precision, threshold, taken_share, found_precision}]
and, where there is something to compare with, what `comparing` lists.
Figures that nothing can be said about are null. Macro means run over the classes with test samples.
"""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from learning.image_classification.calibration import best_threshold, expected_calibration_error, log_loss
from learning.image_classification.comparing import compare, findings_of
from learning.image_classification.uncertainty import (
    macro_f1_interval,
    reliability,
    thresholds_for,
    wilson_interval,
)
from learning.study import Json
from learning.task import ClassInfo, Comparison, Finding, Prediction, Truth

_WORST_CASES = 50
_FEW_TEST_SAMPLES = 50
_RULE = "the confidence of best F1 on the test set, the highest of equally good ones"


def evaluate_classification(
    classes: Sequence[ClassInfo],
    truths: Sequence[Truth],
    predictions: Sequence[Prediction],
    threshold: float,
    comparison: Comparison | None = None,
) -> Json:
    """Raises ValueError where truths and predictions do not pair up or name a class that is not there."""
    if len(truths) != len(predictions):
        raise ValueError(f"{len(truths)} truths but {len(predictions)} predictions")
    index_of = {each.id: index for index, each in enumerate(classes)}
    targets = np.array([_index(index_of, truth.labels[0]) for truth in truths], np.int64)
    scores = _score_matrix(index_of, predictions)
    report: Json = {"task": "image_classification", "sample_count": len(truths)}
    report |= _overall(scores, targets)
    report["classes"], macro = _per_class(classes, scores.argmax(axis=1), targets)
    report |= macro
    report["macro_f1_interval"] = macro_f1_interval(scores.argmax(axis=1), targets)
    report["confusion"] = _confusion(classes, scores.argmax(axis=1), targets)
    report["threshold"] = _threshold(scores, targets, threshold)
    report["worst_cases"] = _worst_cases(classes, truths, scores, targets)
    findings = _findings(classes, targets)
    if comparison is not None:
        compared = compare(comparison, truths, scores.argmax(axis=1) == targets, report["worst_cases"])
        report |= compared
        findings += findings_of(compared, len(truths))
    report["findings"] = [_shown(finding) for finding in findings]
    return report


def _shown(finding: Finding) -> Json:
    shown = {"code": finding.code, "severity": finding.severity, "sentence": finding.sentence}
    return {**shown, "remedy": finding.remedy} if finding.remedy else shown


def _index(index_of: dict[str, int], class_id: str) -> int:
    if class_id not in index_of:
        raise ValueError(f"class {class_id} is not one of the model's")
    return index_of[class_id]


def _score_matrix(index_of: dict[str, int], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
    scores = np.zeros((len(predictions), len(index_of)))
    for row, prediction in enumerate(predictions):
        for score in prediction.scores:
            scores[row, _index(index_of, score.class_id)] = score.score
    return scores


def _overall(scores: NDArray[np.float64], targets: NDArray[np.int64]) -> Json:
    if len(targets) == 0:
        nothing = ("accuracy", "accuracy_interval", "log_loss", "calibration_error")
        return {**dict.fromkeys(nothing), "top_k": {}, "reliability": []}
    ranks = (scores > scores[np.arange(len(targets)), targets][:, np.newaxis]).sum(axis=1)
    is_right = scores.argmax(axis=1) == targets
    return {
        "accuracy": float(is_right.mean()),
        "accuracy_interval": wilson_interval(int(is_right.sum()), len(is_right)),
        "log_loss": log_loss(scores, targets),
        "calibration_error": expected_calibration_error(scores.max(axis=1), is_right),
        "reliability": reliability(scores.max(axis=1), is_right),
        "top_k": {str(k): float((ranks < k).mean()) for k in (1, 3, 5) if k <= scores.shape[1]},
    }


def _per_class(
    classes: Sequence[ClassInfo], predicted: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[list[Json], Json]:
    if len(targets) == 0:
        nothing = {"precision": None, "recall": None, "f1": None, "support": 0}
        return [{**asdict(each), **nothing} for each in classes], _macro([])
    measures = precision_recall_fscore_support(targets, predicted, labels=range(len(classes)), zero_division=0)
    rows = []
    for each, precision, recall, f1, support in zip(classes, *measures, strict=True):
        tested = {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
        figures = tested if support else dict.fromkeys(tested)
        rows.append({**asdict(each), **figures, "support": int(support)})
    return rows, _macro([row for row in rows if row["support"]])


def _macro(rows: list[Json]) -> Json:
    names = ("precision", "recall", "f1")
    return {f"macro_{name}": float(np.mean([row[name] for row in rows])) if rows else None for name in names}


def _confusion(classes: Sequence[ClassInfo], predicted: NDArray[np.int64], targets: NDArray[np.int64]) -> Json:
    size = len(classes)
    matrix = confusion_matrix(targets, predicted, labels=range(size)) if len(targets) else np.zeros((size, size), int)
    return {"class_ids": [each.id for each in classes], "matrix": matrix.tolist()}


def _threshold(scores: NDArray[np.float64], targets: NDArray[np.int64], used: float) -> Json:
    if len(targets) == 0:
        nothing: Json = {"doubtful_share": None, "accuracy_above": None, "for_precision": []}
        return {"used": used, **nothing, "recommended": used, "rule": _RULE}
    confidences, is_right = scores.max(axis=1), scores.argmax(axis=1) == targets
    taken = confidences >= used
    return {
        "used": used,
        "doubtful_share": float(1 - taken.mean()),
        "accuracy_above": float(is_right[taken].mean()) if taken.any() else None,
        "recommended": best_threshold(confidences, is_right),
        "rule": _RULE,
        "for_precision": thresholds_for(confidences, is_right),
    }


def _worst_cases(
    classes: Sequence[ClassInfo],
    truths: Sequence[Truth],
    scores: NDArray[np.float64],
    targets: NDArray[np.int64],
) -> list[Json]:
    predicted = scores.argmax(axis=1) if len(targets) else targets
    wrong = [row for row in range(len(targets)) if predicted[row] != targets[row]]
    wrong.sort(key=lambda row: (-scores[row, predicted[row]], truths[row].sha))
    return [
        {
            "sha": truths[row].sha,
            "truth": classes[targets[row]].id,
            "predicted": classes[predicted[row]].id,
            "score": float(scores[row, predicted[row]]),
            "truth_score": float(scores[row, targets[row]]),
        }
        for row in wrong[:_WORST_CASES]
    ]


def _findings(classes: Sequence[ClassInfo], targets: NDArray[np.int64]) -> list[Finding]:
    if len(targets) == 0:
        sentence = "No sample was held out, so nothing is known about the model's quality; add more pictures."
        return [Finding("no_test_samples", "warning", sentence)]
    findings = []
    if len(targets) < _FEW_TEST_SAMPLES:
        sentence = f"Only {len(targets)} pictures were held out; take the figures as a rough guide, or add more."
        findings.append(Finding("few_test_samples", "warning", sentence))
    counts = np.bincount(targets, minlength=len(classes))
    untested = [each.name for each, count in zip(classes, counts, strict=True) if count == 0]
    if untested:
        sentence = f"No picture of these classes was held out, so nothing is known of them: {', '.join(untested)}."
        findings.append(Finding("classes_untested", "warning", sentence))
    return findings
