"""Temperature scaling and the uncalibrated baseline: values known in closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from sklearn_smart import TemperatureScaling, Uncalibrated

from .contract import make_scores

Z4, Y4 = np.array([[6.0, 0.0]] * 4), np.array([0, 0, 0, 1])
CHANCE, Y_CHANCE = np.array([[2.0, 0.0]] * 10), np.array([1] * 8 + [0] * 2)


def test_closed_form():
    calibrator = TemperatureScaling().fit(Z4, Y4)
    assert_allclose(calibrator.temperature_, 6 / np.log(3), rtol=1e-9)
    assert_allclose(calibrator.loss_, -np.log(0.75**0.75 * 0.25**0.25), rtol=1e-12)
    assert_allclose(calibrator.predict_proba(Z4), [[0.75, 0.25]] * 4, rtol=1e-9)
    assert_allclose(calibrator.transform(Z4), np.log([[0.75, 0.25]] * 4), rtol=1e-9)
    assert_allclose(calibrator.temperatures(Z4), [6 / np.log(3)] * 4, rtol=1e-9)
    assert calibrator.converged_


def test_smooth_minimum_of_the_log_loss():
    scores, y = make_scores(n=300, n_classes=5)

    def loss(t):
        return -log_softmax(scores / t, axis=1)[np.arange(len(y)), y].mean()

    best = minimize_scalar(
        loss, bounds=(0.1, 20), method="bounded", options={"xatol": 1e-9}
    )
    calibrator = TemperatureScaling().fit(scores, y)
    assert_allclose(calibrator.temperature_, best.x, rtol=1e-6)
    assert_allclose(calibrator.loss_, best.fun, rtol=1e-12)


def test_probabilities_are_those_of_tempered_logits():
    scores, y = make_scores(n_classes=5)
    calibrator = TemperatureScaling().fit(scores, y)
    expected = softmax(scores / calibrator.temperature_, axis=1)
    assert_allclose(calibrator.predict_proba(scores), expected, rtol=1e-12)


def test_worse_than_chance():
    with pytest.warns(ConvergenceWarning, match="no better than chance"):
        calibrator = TemperatureScaling().fit(CHANCE, Y_CHANCE)
    assert not calibrator.converged_
    assert 0 < calibrator.temperature_ < np.inf
    p = calibrator.predict_proba(CHANCE)
    assert -np.log(p[np.arange(10), Y_CHANCE]).mean() <= np.log(2) + 1e-3
    assert_array_equal(calibrator.predict(CHANCE), np.zeros(10))


def test_no_error_at_all():
    with pytest.warns(ConvergenceWarning, match="no sample is misclassified"):
        calibrator = TemperatureScaling().fit([[2.0, 0.0], [0.0, 1.0]], [0, 1])
    assert not calibrator.converged_
    assert_allclose(calibrator.predict_proba([[2.0, 0.0]]), [[1.0, 0.0]], atol=1e-6)


def test_equal_scores_leave_temperature_one():
    calibrator = TemperatureScaling().fit(np.zeros((6, 3)), [0, 1, 2, 0, 1, 2])
    assert calibrator.temperature_ == 1.0
    assert_array_equal(
        calibrator.predict_proba(np.zeros((2, 3))), np.full((2, 3), 1 / 3)
    )


def test_calibrated_scores_have_temperature_one():
    """Labels drawn from the scores' own probabilities: nothing to correct."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3))
    draws = rng.random((len(scores), 1))
    y = (softmax(scores, axis=1).cumsum(axis=1) < draws).sum(axis=1)
    calibrator = TemperatureScaling().fit(3 * scores, y)
    assert_allclose(calibrator.temperature_, 3.0, rtol=0.05)


def test_uncalibrated_is_the_softmax():
    scores, y = make_scores()
    p = softmax(scores, axis=1)
    calibrator = Uncalibrated().fit(scores, y)
    assert_allclose(calibrator.predict_proba(scores), p, rtol=1e-12)
    given = Uncalibrated(input="probabilities").fit(p, y)
    assert_allclose(given.predict_proba(p), p, rtol=1e-9)
    assert_allclose(given.predict_proba(p[:, :3].astype(np.float32)), p, atol=1e-6)
