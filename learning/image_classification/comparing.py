"""The part of a report that compares test samples with training samples. Pure but for the evidence file it reads.

training {samples, learning_curve [{samples, error}], expected_with_twice_the_data: accuracy}
look_alikes {count, share, accuracy, accuracy_of_others}: test pictures much like one that was trained on
leaks [sha]: test pictures that are nearly the same as one that was trained on
label_suspects [{sha, label, looks_like, margin}]: training labels that their look-alikes contradict
worst_cases [...]: each with nearest [{sha, label, likeness}], the training pictures most like it
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from learning.image_classification.diagnosis import expected_error
from learning.image_classification.evidence import LOOK_ALIKE, Evidence, nearest, read_evidence
from learning.study import Json
from learning.task import Comparison, Finding, Truth

_NEAREST = 3
_TWICE = 2.0
_MANY = 0.1  # of the test pictures
_FEWEST = 20  # test pictures on either side, to compare their accuracies


def compare(comparison: Comparison, truths: Sequence[Truth], is_right: NDArray[np.bool_], worst: list[Json]) -> Json:
    """What is added to a report; `worst` cases are given their nearest training samples."""
    evidence = read_evidence(comparison.evidence)
    rows, likeness = nearest(evidence, comparison.vectors, _NEAREST)
    _show_nearest(worst, evidence, {truth.sha: at for at, truth in enumerate(truths)}, rows, likeness)
    has_neighbour = bool(likeness.shape[1]) and bool(len(likeness))
    alike = likeness[:, 0] >= LOOK_ALIKE[evidence.kind] if has_neighbour else np.zeros(len(truths), np.bool_)
    curve = evidence.diagnosis["learning_curve"]
    error = expected_error(float(1 - is_right.mean()), curve, _TWICE) if len(is_right) else None
    return {
        "training": {
            "samples": len(evidence.shas),
            "learning_curve": curve,
            "expected_with_twice_the_data": None if error is None else 1 - error,
        },
        "look_alikes": _look_alikes(alike, is_right),
        "leaks": list(comparison.leaks),
        "label_suspects": evidence.diagnosis["suspects"],
    }


def findings_of(compared: Json, test_count: int) -> list[Finding]:
    """What of a comparison deserves a sentence."""
    findings = []
    if leaks := len(compared["leaks"]):
        sentence = f"{leaks} test pictures are nearly the same as pictures that were trained on; they prove little."
        findings.append(Finding("leaked_samples", "warning", sentence))
    alike = compared["look_alikes"]
    if test_count and alike["share"] > _MANY:
        sentence = (
            f"{alike['share']:.0%} of the test pictures look much like one that was trained on. Pictures of new "
            "things, taken another day, are harder: expect somewhat less there."
        )
        findings.append(Finding("test_looks_like_training", "info", sentence))
    if suspects := len(compared["label_suspects"]):
        sentence = f"{suspects} training pictures look like another class than the one they are labelled with."
        findings.append(Finding("label_suspects", "warning", sentence, "Look through them and correct the labels."))
    return findings


def _look_alikes(alike: NDArray[np.bool_], is_right: NDArray[np.bool_]) -> Json:
    def accuracy(chosen: NDArray[np.bool_]) -> float | None:
        return float(is_right[chosen].mean()) if chosen.sum() >= _FEWEST else None

    return {
        "count": int(alike.sum()),
        "share": float(alike.mean()) if len(alike) else 0.0,
        "accuracy": accuracy(alike),
        "accuracy_of_others": accuracy(~alike),
    }


def _show_nearest(
    worst: list[Json],
    evidence: Evidence,
    place: dict[str, int],
    rows: NDArray[np.int64],
    likeness: NDArray[np.float32],
) -> None:
    for case in worst:
        at = place[case["sha"]]
        case["nearest"] = [
            {"sha": evidence.shas[row], "label": evidence.labels[row], "likeness": round(float(cosine), 4)}
            for row, cosine in zip(rows[at], likeness[at], strict=True)
        ]
