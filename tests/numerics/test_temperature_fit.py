"""The single temperature of least log loss, where it is known in closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from sklearn_smart._numerics.temperature_fit import (
    fit_single_temperature,
    fit_single_temperature_on_curves,
    fit_without_error,
)
from sklearn_smart._numerics.tempered import TemperedLogits

from .problems import make_problem

# Three of four labels are right, so p = 3/4 and T = 6 / ln 3.
Z4, Y4 = np.array([[6.0, 0.0]] * 4), np.array([0, 0, 0, 1])


def fit(logits, y, weight=None):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return fit_single_temperature(TemperedLogits(np.asarray(logits), y), weight)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_closed_form_at_any_scale(scale, dtype):
    single = fit((scale * Z4).astype(dtype), Y4)
    rtol = 1e-9 if dtype is np.float64 else 1e-6
    assert_allclose(single.temperature, scale * 6 / np.log(3), rtol=rtol)
    assert_allclose(single.loss, -0.75 * np.log(0.75) - 0.25 * np.log(0.25), rtol=1e-7)
    assert single.converged


def test_float32_at_the_end_of_its_range():
    single = fit((1e30 * Z4).astype(np.float32), Y4)
    assert_allclose(single.temperature, 6e30 / np.log(3), rtol=1e-6)
    assert single.converged


@pytest.mark.parametrize("n_classes", [2, 3, 10, 1000])
def test_closed_form_with_tied_rivals(n_classes):
    # p of the top class is r where its share of labels is r: T = g / logit of it.
    logits = np.zeros((10, n_classes))
    logits[:, 0] = 4.0
    y = np.array([0] * 8 + [1] * 2)
    single = fit(logits, y)
    assert_allclose(single.temperature, 4 / np.log(4 * (n_classes - 1)), rtol=1e-9)


def test_weights_stand_for_rows():
    single = fit(Z4[:2], np.array([0, 1]), [3, 1])
    assert_allclose(single.temperature, 6 / np.log(3), rtol=1e-9)


def test_equals_a_scalar_search():
    logits, y, _, weight = make_problem(n=200)

    def value(t):
        log_p = log_softmax(logits / np.exp(t), axis=1)
        return -weight @ log_p[np.arange(len(y)), y] / weight.sum()

    found = minimize_scalar(value, bracket=(-1, 1), tol=1e-10)
    single = fit(logits, y, weight)
    assert_allclose(single.temperature, np.exp(found.x), rtol=1e-6)
    assert_allclose(single.loss, found.fun, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_equal_logits_leave_the_temperature_at_one(n_classes):
    single = fit(np.zeros((6, n_classes)), np.zeros(6, dtype=int))
    assert single.temperature == 1.0
    assert_allclose(single.loss, np.log(n_classes))


def test_worse_than_chance_ends_at_a_bound_near_the_uniform_loss():
    single = fit([[2.0, 0.0]] * 10, np.array([1] * 8 + [0] * 2))
    assert not single.converged
    assert 0 < single.temperature < np.inf
    assert single.loss <= np.log(2) + 1e-3


def test_no_error_at_all_ends_at_the_other_bound():
    single = fit([[2.0, 0.0], [0.0, 1.0]], np.array([0, 1]))
    assert not single.converged
    assert single.temperature > 0
    assert single.loss < 1e-12


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
def test_a_certain_and_right_row_does_not_count(size):
    logits, y, _, _ = make_problem(n=60)
    alone = fit(logits, y)
    certain = np.zeros((1, logits.shape[1]))
    certain[0, 0] = size
    together = fit(np.vstack([logits, certain]), np.append(y, 0))
    assert together.converged
    assert_allclose(together.temperature, alone.temperature, rtol=1e-9)


def test_without_an_error_the_mean_confidence_has_half_an_error():
    # Four rows with margin 2, all correct: confidence 9/10 is log-odds log 9.
    rows = TemperedLogits(np.array([[2.0, 0.0]] * 4), np.zeros(4, dtype=int))
    single = fit_without_error(rows, np.ones(4))
    assert_allclose(single.temperature, 2 / np.log(9.0), rtol=1e-10)
    assert_allclose(single.loss, np.log(10 / 9), rtol=1e-10)
    assert single.converged
    # A weight of 2 is every row twice.
    double = fit_without_error(rows, np.full(4, 2.0))
    assert_allclose(double.temperature, 2 / np.log(17), rtol=1e-10)


@pytest.mark.parametrize("centre", [0.02, 1.0, 50.0])
def test_by_interpolated_curves_from_any_centre(centre):
    logits, y, _, weight = make_problem(n=200)
    rows = TemperedLogits(logits, y)
    exact = fit_single_temperature(rows, weight)
    found = fit_single_temperature_on_curves(rows.tabulate(centre), weight)
    assert found.converged
    assert_allclose(found.temperature, exact.temperature, rtol=1e-3)
    assert_allclose(found.loss, exact.loss, rtol=1e-4)


def test_by_interpolated_curves_without_an_error():
    rows = TemperedLogits(np.array([[2.0, 0.0]] * 4), np.zeros(4, dtype=int))
    found = fit_single_temperature_on_curves(rows.tabulate(1.0), np.ones(4))
    assert_allclose(found.temperature, 2 / np.log(9), rtol=1e-3)
