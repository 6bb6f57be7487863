"""Signals against their formulas, and what they must not depend on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax
from scipy.stats import entropy

from sklearn_smart._numerics.signals import SIGNALS, signal, weighted_moments

from .problems import make_problem, read_only

LOGITS = make_problem(n=40, n_classes=5)[0]


def by_formula(name, z):
    ordered = -np.sort(-z, axis=1)
    p = softmax(z, axis=1)
    return {
        "margin": ordered[:, 0] - ordered[:, 1],
        "soft_tail_gap": -logsumexp(5 * (ordered[:, 1:] - ordered[:, :1]), axis=1) / 5,
        "participation_ratio": 1 / (p**2).sum(axis=1),
        "top_logit": ordered[:, 0] - z.mean(axis=1),
        "confidence": p.max(axis=1),
        "entropy": entropy(p, axis=1),
    }[name]


@pytest.mark.parametrize("name", SIGNALS)
def test_signal_equals_its_formula(name):
    assert_allclose(signal(name, LOGITS, 1.0), by_formula(name, LOGITS), rtol=1e-10)


@pytest.mark.parametrize("name", SIGNALS)
def test_standardised_signal_does_not_see_scale_or_shift(name):
    def standardised(logits, unit):
        values = signal(name, logits, unit)
        return (values - values.mean()) / values.std()

    expected = standardised(LOGITS, 2.0)
    assert_allclose(standardised(8 * LOGITS, 16.0), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(standardised(LOGITS + 1e3, 2.0), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_signal_of_ties_and_of_extremes_is_finite(name, n_classes):
    zeros = np.zeros((3, n_classes))
    certain = zeros.copy()
    certain[:, 0] = 1e5
    for logits in (zeros, certain, certain.astype(np.float32)):
        values = signal(name, logits, 1.0)
        assert values.dtype == np.float64
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", SIGNALS)
def test_signal_leaves_its_argument_alone(name):
    (frozen,) = read_only(LOGITS)
    signal(name, frozen, 1.0)


def test_moments_are_those_of_repetition():
    values, times = np.array([1.0, 4.0, -2.0]), np.array([3, 1, 2])
    repeated = np.repeat(values, times)
    assert_allclose(
        weighted_moments(values, times.astype(float)), [repeated.mean(), repeated.std()]
    )


@pytest.mark.parametrize("value", [0.0, 1e-30, 0.1, 1e30])
def test_spread_of_equal_values_is_one(value):
    mean, spread = weighted_moments(np.full(7, value), np.full(7, 0.3))
    assert_allclose(mean, value, rtol=1e-12)
    assert spread == 1.0
