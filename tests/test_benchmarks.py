"""The parts of the benchmarks that others build on."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax

from sklearn_smart import SMARTCalibrator

CALARENA = Path(__file__).resolve().parents[1] / "benchmarks" / "calarena.py"


@pytest.fixture(scope="module")
def calibrators():
    return runpy.run_path(str(CALARENA))["CUSTOM_CALIBRATORS"]


def make_probabilities(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=300)
    return softmax(4 * (np.eye(n_classes)[y] + rng.normal(size=(300, n_classes)))), y


@pytest.mark.parametrize("name", ["SMART", "VS-SMART", "MS-SMART", "TS-sklearn_smart"])
def test_calarena_takes_any_shape_and_a_missing_class(calibrators, name):
    p, y = make_probabilities(3)
    p /= p.sum(axis=1, keepdims=True)
    some = y < 2
    answer = calibrators[name]().fit(p[some], y[some]).predict_proba(p)
    assert answer.shape == (300, 3)
    assert np.isfinite(answer).all()
    two = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    both = calibrators[name]().fit(two[some], y[some]).predict_proba(two)
    one = calibrators[name]().fit(two[some, 1], y[some]).predict_proba(two[:, 1])
    np.testing.assert_allclose(one, both, atol=1e-6)


def test_calarena_runs_the_calibrator_itself(calibrators):
    p, y = make_probabilities(4)
    p /= p.sum(axis=1, keepdims=True)
    alone = SMARTCalibrator(input="probabilities").fit(p, y).predict_proba(p)
    assert_array_equal(calibrators["SMART"]().fit(p, y).predict_proba(p), alone)
