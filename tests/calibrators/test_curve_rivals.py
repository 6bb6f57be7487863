"""Curves of probabilities against other libraries, differences explained."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sklearn_smart import (
    BetaCalibrator,
    HistogramBinning,
    ScalingBinning,
    TopLabelIsotonic,
    VennAbersCalibrator,
)
from sklearn_smart.calibrators.one_vs_rest import log_odds

REASON = "needs the 'rivals' extra"


def binary(seed, n=300, digits=None):
    """Probabilities of the second of two classes, labels, and new probabilities."""
    rng = np.random.default_rng(seed)
    prob = rng.beta(0.8, 1.2, size=n)
    if digits is not None:
        prob = prob.round(digits)
    y = (rng.random(n) < expit(2 * log_odds(np.clip(prob, 0.02, 0.98)) + 0.3)) * 1
    return prob, y, rng.random(200)


def curve_of(calibrator, prob, y, new):
    return calibrator.fit(prob, y).predict_proba(new)[:, 1]


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("seed", range(4))
def test_betacal(parameters, seed):
    # It maximises the same likelihood by scikit-learn's logistic regression with its
    # default tolerance, which stops up to 6e-4 away; ours is the higher likelihood.
    betacal = pytest.importorskip("betacal", reason=REASON)
    prob, y, new = binary(seed)
    theirs = betacal.BetaCalibration(parameters).fit(prob, y)
    mine = BetaCalibrator(parameters=parameters, input="probabilities").fit(prob, y)
    assert_allclose(mine.predict_proba(new)[:, 1], theirs.predict(new), atol=1e-3)
    reached = log_loss(y, mine.predict_proba(prob))
    assert reached <= log_loss(y, theirs.predict(prob)) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_beta_is_a_logistic_regression(seed):
    prob, y, new = binary(seed)
    exact = LogisticRegression(C=1e10, tol=1e-10, max_iter=10_000)
    exact.fit(np.stack([np.log(prob), -np.log1p(-prob)], axis=1), y)
    theirs = exact.predict_proba(np.stack([np.log(new), -np.log1p(-new)], axis=1))
    mine = BetaCalibrator(input="probabilities")
    assert_allclose(curve_of(mine, prob, y, new), theirs[:, 1], atol=1e-5)


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_venn_abers(digits):
    rival = pytest.importorskip("venn_abers", reason=REASON)
    prob, y, new = binary(0, digits=digits)
    new = np.concatenate([new, prob, [0.0, 1.0]])
    their_curve = rival.VennAbers()
    their_curve.fit(np.stack([1 - prob, prob], axis=1), y)
    combined, pair = their_curve.predict_proba(np.stack([1 - new, new], axis=1))
    mine = VennAbersCalibrator(input="probabilities")
    value = curve_of(mine, prob, y, new)
    low, high = mine.predict_interval(new)
    # It rounds probabilities to no grid unless asked to, but places a new one that is
    # not among the old ones with its neighbour on the left: the fits differ there.
    seen = np.isin(new, prob)
    assert_allclose(low[seen, 1], pair[seen, 0], atol=1e-9)
    assert_allclose(high[seen, 1], pair[seen, 1], atol=1e-9)
    assert_allclose(value[seen], combined[seen, 1], atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [None, 1])
def test_venn_abers_is_two_isotonic_regressions(weighted, digits):
    prob, y, new = binary(1, n=60, digits=digits)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, size=len(y)) if weighted else np.ones(len(y))
    mine = VennAbersCalibrator(input="probabilities").fit(prob, y, weight)
    new = np.concatenate([new[:30], prob[:10], [0.0, 1.0]])
    low, high = (side[:, 1] for side in mine.predict_interval(new))
    for event, side in ((0, low), (1, high)):
        for value, answer in zip(new, side, strict=True):
            longer = np.append(prob, value), np.append(y, event)
            fit = IsotonicRegression().fit(*longer, np.append(weight, 1))
            assert answer == pytest.approx(fit.predict([value])[0], abs=1e-9)
    combined = mine.predict_proba(new)[:, 1]
    assert_allclose(combined, high / (1 - low + high), atol=1e-12)


def test_netcal_histogram():
    # Its bins are closed on the left; random probabilities do not lie on edges.
    netcal = pytest.importorskip("netcal.binning", reason=REASON)
    prob, y, new = binary(2, n=1000)
    theirs = netcal.HistogramBinning(bins=10).fit(prob, y).transform(new)
    mine = HistogramBinning(
        n_bins=10, strategy="uniform", kind="one_vs_rest", input="probabilities"
    )
    assert_allclose(curve_of(mine, prob, y, new), theirs, atol=1e-6)


def test_uncertainty_calibration_histogram():
    # Its edges lie in the middle between neighbours and ours on the lower one, so the
    # same samples share a bin: asked at the calibration set itself.
    rival = pytest.importorskip("calibration", reason=REASON)
    prob, y, _ = binary(3)
    theirs = rival.HistogramCalibrator(len(y), 10)
    theirs.train_calibration(prob, y)
    mine = HistogramBinning(n_bins=10, kind="one_vs_rest", input="probabilities")
    value = curve_of(mine, prob, y, prob)
    assert_allclose(value, theirs.calibrate(prob), atol=1e-12)


def test_uncertainty_calibration_scaling_binning():
    # Its sigmoid is fitted to the labels, ours to Platt's targets, (m + 1) / (m + 2)
    # and 1 / (l + 2): the difference vanishes with the number of samples.
    rival = pytest.importorskip("calibration", reason=REASON)
    for n, tolerance in ((300, 0.02), (30_000, 5e-4)):
        prob, y, _ = binary(4, n=n)
        theirs = rival.PlattBinnerCalibrator(n, 10)
        theirs.train_calibration(prob, y)
        mine = ScalingBinning(n_bins=10, kind="one_vs_rest", input="probabilities")
        value = curve_of(mine, prob, y, prob)
        assert_allclose(value, theirs.calibrate(prob), atol=tolerance)


def test_scikit_learn_isotonic_of_the_confidence():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], size=300)
    y = rng.integers(3, size=300)
    y[:200] = prob[:200].argmax(axis=1)
    mine = TopLabelIsotonic(input="probabilities").fit(prob, y)
    correct = prob.argmax(axis=1) == y
    theirs = IsotonicRegression(out_of_bounds="clip").fit(prob.max(axis=1), correct)
    kept = ~mine.raised(prob)
    assert kept.sum() > 100
    top = mine.predict_proba(prob).max(axis=1)
    assert_allclose(top[kept], theirs.predict(prob.max(axis=1))[kept], atol=1e-9)
