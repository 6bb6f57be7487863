"""Curves of probabilities where the answer is known: by hand, or in a limit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_smart import (
    BayesianBinning,
    BetaCalibrator,
    HistogramBinning,
    ScalingBinning,
    SplineCalibrator,
    TopLabelIsotonic,
    TopLabelSigmoid,
    VennAbersCalibrator,
)

CURVES = [
    TopLabelIsotonic(),
    TopLabelSigmoid(),
    *(
        kind(kind=which)
        for kind in (
            HistogramBinning,
            BayesianBinning,
            ScalingBinning,
            BetaCalibrator,
            SplineCalibrator,
            VennAbersCalibrator,
        )
        for which in ("top_label", "one_vs_rest")
    ),
]


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_constant_confidence_becomes_the_base_rate(curve):
    # 0.8 for the same class each time, right three times of four in 2000.
    prob = np.tile([0.2, 0.8], (2000, 1))
    y = np.tile([0, 1, 1, 1], 500)
    fitted = clone(curve).set_params(input="probabilities").fit(prob, y)
    assert_allclose(fitted.predict_proba(prob[:1])[0, 1], 0.75, atol=2e-3)


def test_rows_raised_by_hand():
    # One bin: the confidence becomes the accuracy, 1 / 4. The first row's runner-up has
    # 3/4 of the remainder: c' = (3/4) / (7/4) = 3/7. The second row's has 1/2: 1/3.
    prob = np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3]])
    fitted = HistogramBinning(n_bins=1, input="probabilities")
    fitted.fit(np.tile(prob[0], (4, 1)), [0, 1, 1, 2])
    expected = [[3 / 7, 3 / 7, 1 / 7], [1 / 3, 1 / 3, 1 / 3]]
    assert_allclose(fitted.predict_proba(prob), expected)
    assert_array_equal(fitted.raised(prob), [True, True])
    assert fitted.n_raised_ == 4
    # Where the accuracy is 3/4, nothing is raised.
    fitted = HistogramBinning(n_bins=1, input="probabilities", classes=3)
    fitted.fit(np.tile(prob[0], (4, 1)), [0, 0, 0, 1])
    assert_allclose(fitted.predict_proba(prob[:1]), [[3 / 4, 3 / 16, 1 / 16]])
    assert fitted.n_raised_ == 0


@pytest.mark.parametrize("n_values", [1, 3, 10, 1000])
def test_spline_of_few_values_is_near_their_frequencies(n_values):
    """Ties are one stretch of the gap's line, not one point of it."""
    rng = np.random.default_rng(0)
    prob = np.repeat((np.arange(n_values) + 0.5) / n_values, 30_000 // n_values)
    true = 0.2 + 0.5 * prob
    y = (rng.random(len(prob)) < true).astype(int)
    fitted = SplineCalibrator(kind="one_vs_rest", input="probabilities").fit(prob, y)
    inner = (prob > 0.1) & (prob < 0.9)
    value = fitted.predict_proba(prob[inner])[:, 1]
    assert_allclose(value, true[inner], atol=0.06 if n_values == 3 else 0.03)


@pytest.mark.parametrize("n_knots", [2, 201, 6.0])
def test_spline_errors(n_knots):
    with pytest.raises(ValueError, match="'n_knots' parameter"):
        SplineCalibrator(n_knots=n_knots).fit(np.eye(3), [0, 1, 2])
