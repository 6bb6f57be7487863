"""Curves of the log partition: exact values, tables, anchors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from sklearn_smart._numerics.tempered import TemperedLogits

RNG = np.random.default_rng(0)
PROBLEMS = {
    "binary": (4 * RNG.normal(size=(60, 2)), RNG.integers(2, size=60)),
    "ten": (3 * RNG.normal(size=(60, 10)), RNG.integers(10, size=60)),
    "thousand": (3 * RNG.normal(size=(40, 1000)), RNG.integers(1000, size=40)),
    "tied": (np.zeros((20, 3)), np.arange(20) % 3),
}
# How far the interpolation may be off: more classes bend a curve more.
INTERPOLATION = {"binary": 1e-6, "ten": 1e-4, "thousand": 1e-3, "tied": 1e-12}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    logits, y = PROBLEMS[request.param]
    return request.param, logits, TemperedLogits(logits, y)


def betas(n):
    return np.random.default_rng(1).uniform(0.3, 3.0, size=n)


def test_curve_is_log_partition_with_its_derivatives(problem):
    _, logits, rows = problem
    beta = betas(len(rows))
    gaps = logits - logits.max(axis=1, keepdims=True)
    p = softmax(beta[:, None] * gaps, axis=1)
    mean = (p * gaps).sum(axis=1)
    variance = (p * gaps**2).sum(axis=1) - mean**2
    value, slope, bend = rows.curve(beta)
    assert_allclose(value, logsumexp(beta[:, None] * gaps, axis=1), atol=1e-12)
    assert_allclose(slope, mean, atol=1e-11)
    assert_allclose(bend, variance, atol=1e-10)


def test_table_interpolates_and_extends_itself(problem):
    name, _, rows = problem
    table = rows.tabulate(1.0, octaves=(1, 1))
    for factor in (0.02, 0.7, 1.0, 1.3, 9.0):
        beta = factor * betas(len(rows))
        exact, table_value = rows.log_partition(beta), table.log_partition(beta)
        assert_allclose(table_value[0], exact[0], atol=INTERPOLATION[name])
        slope_error = np.abs(table_value[1] - exact[1]) * beta
        assert slope_error.max() <= 20 * INTERPOLATION[name]


def test_table_slope_is_the_derivative_of_its_value(problem):
    _, _, rows = problem
    table = rows.tabulate(1.0)
    beta, step = betas(len(rows)), 1e-6
    up, down = table.log_partition(beta + step), table.log_partition(beta - step)
    numeric = (up[0] - down[0]) / (2 * step)
    assert_allclose(table.log_partition(beta)[1], numeric, rtol=1e-5, atol=1e-6)


def test_anchor_makes_value_and_slope_exact(problem):
    _, _, rows = problem
    order = np.random.default_rng(2).permutation(len(rows))
    table = rows.tabulate(1.0, order=order)
    beta = betas(len(rows))
    table.anchor(beta)
    unsorted = np.empty_like(beta)
    unsorted[order] = beta
    value, slope = rows.log_partition(unsorted)
    assert_allclose(table.log_partition(beta)[0], value[order], atol=1e-12)
    assert_allclose(table.log_partition(beta)[1], slope[order], atol=1e-11)


def test_part_of_a_table_is_the_table_of_the_part(problem):
    _, logits, rows = problem
    index = np.array([5, 3, 11])
    part = rows.tabulate(1.0).take(index)
    beta = betas(3)
    exact = TemperedLogits(logits[index], np.zeros(3, dtype=int)).log_partition(beta)
    assert_allclose(part.log_partition(beta)[0], exact[0], atol=1e-3)
    assert_allclose(part.gap, rows.gap[index])
    # Also where the part has to be extended by another pass over the logits.
    beta = np.full(3, 40.0)
    exact = TemperedLogits(logits[index], np.zeros(3, dtype=int)).log_partition(beta)
    assert_allclose(part.log_partition(beta)[0], exact[0], atol=1e-3)


def test_float32_logits_stay_close():
    logits, y = PROBLEMS["thousand"]
    beta = betas(len(y))
    double = TemperedLogits(logits, y).curve(beta)
    single = TemperedLogits(logits.astype(np.float32), y).curve(beta)
    for got, want in zip(single, double, strict=True):
        assert_allclose(got, want, rtol=1e-3, atol=1e-4)
