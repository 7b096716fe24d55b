"""Temperature, threshold and calibration error."""

import numpy as np
import pytest

from learning.image_classification.calibration import (
    best_threshold,
    expected_calibration_error,
    fit_calibration,
    log_loss,
    softmax,
)


def test_the_temperature_that_spoiled_the_logits_is_found() -> None:
    random = np.random.default_rng(0)
    honest = random.normal(size=(4000, 5)) * 2
    targets = np.array([random.choice(5, p=row) for row in softmax(honest)])
    assert fit_calibration(honest * 3, targets).temperature == pytest.approx(3, rel=0.1)


def test_without_samples_nothing_is_changed() -> None:
    calibration = fit_calibration(np.zeros((0, 3)), np.zeros(0, np.int64))
    assert (calibration.temperature, calibration.threshold) == (1.0, 0.5)


def test_the_threshold_separates_sure_and_right_from_unsure_and_wrong() -> None:
    confidences = np.array([0.95, 0.9, 0.85, 0.4, 0.35, 0.3])
    assert best_threshold(confidences, np.array([1, 1, 1, 0, 0, 0], bool)) == pytest.approx(0.85)


def test_when_all_is_right_only_less_sure_predictions_than_these_are_doubtful() -> None:
    assert best_threshold(np.array([0.305, 0.9]), np.array([True, True])) == pytest.approx(0.3)


def test_samples_that_are_all_right_do_not_call_for_endless_confidence() -> None:
    logits = np.random.default_rng(0).normal(size=(60, 4)) + 5 * np.eye(4)[np.arange(60) % 4]
    targets = np.arange(60) % 4
    temperature = fit_calibration(logits, targets).temperature
    assert 0.3 < softmax(logits, temperature).max(axis=1).mean() < 0.99


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    confidences = np.full(100, 0.9)
    assert expected_calibration_error(confidences, np.arange(100) < 60) == pytest.approx(0.3)
    assert expected_calibration_error(confidences, np.arange(100) < 90) == pytest.approx(0.0, abs=1e-9)


def test_log_loss_of_an_impossible_truth_is_large_but_finite() -> None:
    assert 20 < log_loss(np.array([[1.0, 0.0]]), np.array([1])) < 50
