"""Vector, matrix and Dirichlet calibration: limits, closed forms, gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize

from sklearn_smart import (
    DirichletCalibrator,
    MatrixScaling,
    SMARTCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from sklearn_smart._numerics.affine_maps import AffineProblem, MatrixMap, VectorMap
from sklearn_smart.metrics import expected_calibration_error, log_loss

from .contract import make_scores

SCORES, Y = make_scores(n=300, n_classes=4)


def log_softmax(z):
    return z - np.logaddexp.reduce(z, axis=1, keepdims=True)


@pytest.mark.parametrize("form", [VectorMap(4), MatrixMap(4)], ids=["vector", "matrix"])
def test_gradient_and_information(form):
    rng = np.random.default_rng(0)
    problem = AffineProblem(log_softmax(SCORES), Y, rng.uniform(0.5, 2, len(Y)), form)
    at = 0.2 * rng.normal(size=sum(form.sizes))
    value, gradient = problem.loss(at)
    assert value > 0
    numeric = approx_fprime(at, lambda p: problem.loss(p)[0], 1e-6)
    assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-3)
    # The log loss of logits that are linear in the parameters: the information is
    # the second derivative.
    step = 1e-5
    for k in range(len(at)):
        e = np.eye(len(at))[k] * step
        bend = (problem.loss(at + e)[1][k] - problem.loss(at - e)[1][k]) / (2 * step)
        assert_allclose(problem.information(at)[k], bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling])
def test_a_strong_penalty_is_temperature_scaling(kind):
    expected = TemperatureScaling().fit(SCORES, Y).predict_proba(SCORES)
    strong = kind(alpha=1e10, prior_count=0.0).fit(SCORES, Y)
    assert_allclose(strong.predict_proba(SCORES), expected, atol=1e-8)
    assert strong.uniform_weight_ == 0
    # The default mixes one sample's worth of the uniform distribution in.
    mixed = kind(alpha=1e10).fit(SCORES, Y).predict_proba(SCORES)
    assert_allclose(mixed, (300 * expected + 1 / 4) / 301, atol=1e-7)


def test_vector_scaling_is_the_penalised_minimum():
    model = VectorScaling(alpha=2.0).fit(SCORES, Y)
    p = TemperatureScaling().fit(SCORES, Y).predict_proba(SCORES)
    x = np.log((300 * p + 1 / 4) / 301)

    def objective(theta):
        d, b = theta.reshape(2, -1)
        z = log_softmax(x * d + b)
        return -z[np.arange(300), Y].sum() + 2 * ((d - 1) ** 2).sum() + 2 * (b @ b)

    found = minimize(objective, np.repeat([1.0, 0.0], 4), method="BFGS", tol=1e-10).x
    assert_allclose(model.coef_, found[:4], atol=1e-5)
    assert_allclose(model.intercept_, found[4:], atol=1e-5)
    assert_allclose(model.loss_, objective(found) / 300, rtol=1e-9)


def test_without_a_penalty_the_offsets_give_the_base_rates():
    """Scores that say nothing: the class frequencies remain."""
    y = np.repeat([0, 1, 2], [10, 30, 60])
    scores = 1e-9 * np.random.default_rng(0).normal(size=(100, 3))
    for kind in (VectorScaling, MatrixScaling):
        p = kind(alpha=0.0, prior_count=0.0).fit(np.zeros_like(scores), y)
        assert_allclose(p.predict_proba(scores[:1])[0], [0.1, 0.3, 0.6], atol=1e-4)


def test_evidence_leaves_nothing_of_a_group_without_any():
    """A single temperature is the truth: the maps are next to the identity."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=(4000, 3))
    y = (np.exp(log_softmax(z)).cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    for kind in (VectorScaling, MatrixScaling):
        model = kind().fit(2 * z, y)
        assert_allclose(model.temperature_, 2, atol=0.1)
        coef = model.coef_ if kind is VectorScaling else np.diag(model.coef_)
        assert_allclose(coef, 1, atol=0.05)
        assert_allclose(model.intercept_, 0, atol=0.05)


def test_evidence_finds_what_is_there():
    """Offsets and factors that the labels follow: nearly all is repaired."""
    rng = np.random.default_rng(0)
    z = log_softmax(2 * rng.normal(size=(20_000, 3)))
    true = log_softmax(z * [1.0, 1.0, 0.5] + [1.0, -0.5, -0.5])
    y = (np.exp(true).cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    least = log_loss(y, np.exp(true))
    base = log_loss(y, TemperatureScaling().fit(z, y).predict_proba(z)) - least
    for kind in (VectorScaling, MatrixScaling):
        model = kind().fit(z, y)
        assert model.alpha_[0] < 100
        assert log_loss(y, model.predict_proba(z)) - least < 0.05 * base


def test_class_bias_and_margin_are_repaired_in_sequence():
    """Each part repairs what the other cannot."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=(12_000, 5))
    margin = np.sort(z, axis=1)[:, -1] - np.sort(z, axis=1)[:, -2]
    true = log_softmax(z / (0.6 + 0.6 * margin[:, None]) + [1.5, 0, 0, 0, -1.5])
    y = (np.exp(true).cumsum(axis=1) < rng.random((12_000, 1))).sum(axis=1)
    fit, test = slice(0, 6000), slice(6000, None)
    first = VectorScaling().fit(z[fit], y[fit])
    both = SMARTCalibrator().fit(first.transform(z[fit]), y[fit])
    alone = SMARTCalibrator().fit(z[fit], y[fit])
    p = both.predict_proba(first.transform(z[test]))
    assert log_loss(y[test], p) < log_loss(y[test], alone.predict_proba(z[test]))
    assert expected_calibration_error(y[test], p) < 0.7 * expected_calibration_error(
        y[test], first.predict_proba(z[test])
    )


def test_dirichlet_is_the_regularised_minimum():
    model = DirichletCalibrator(reg_lambda=0.3, reg_mu=0.1).fit(SCORES, Y)
    x = log_softmax(SCORES)
    off = ~np.eye(4, dtype=bool)

    def objective(theta):
        w, b = theta[:16].reshape(4, 4), theta[16:]
        z = log_softmax(x @ w.T + b)
        value = -z[np.arange(300), Y].mean()
        return value + 0.3 / 12 * (w[off] ** 2).sum() + 0.1 / 4 * (b @ b)

    start = np.concatenate([0.3 * np.eye(4).ravel(), np.zeros(4)])
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-9}).x
    assert_allclose(model.loss_, objective(found), rtol=1e-8)
    assert_allclose(model.coef_.ravel(), found[:16], atol=1e-3)


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling, DirichletCalibrator])
def test_errors(kind):
    name = "reg_lambda" if kind is DirichletCalibrator else "alpha"
    for settings in ({name: -1.0}, {name: "x"}, {"max_iter": 0}, {"tol": 0.0}):
        with pytest.raises(ValueError, match=f"'{next(iter(settings))}' parameter"):
            kind(**settings).fit(SCORES, Y)
    with pytest.warns(UserWarning, match="did not converge in 1 steps"):
        kind(max_iter=1, **{name: 0.0}).fit(SCORES, Y)
