"""Softmax, the two largest logits, conversions: against scipy and at the extremes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax as scipy_log_softmax
from scipy.special import softmax as scipy_softmax

from sklearn_smart._numerics.logits import (
    keep_prediction,
    logits_from_probabilities,
    margin,
    margin_softmax,
    row_blocks,
    softmax,
    tempered_log_softmax,
    tempered_softmax,
    top_two,
    two_columns,
)

from .problems import read_only

SHAPES = [(1, 2), (7, 3), (40, 1000), (3, 40_000), (20_000, 2)]
LOGITS = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
    elements=st.floats(-50, 50),
)
TIED_LOGITS = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
    elements=st.integers(-2, 2).map(float),
)


def logits_of(shape, seed=0, scale=3.0):
    return scale * np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_equals_scipy(shape):
    logits = logits_of(shape)
    assert_allclose(softmax(logits), scipy_softmax(logits, axis=1), rtol=1e-12)
    assert_allclose(
        tempered_log_softmax(logits, 1.0),
        scipy_log_softmax(logits, axis=1),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_temperature_may_be_a_number_an_array_or_a_function(shape):
    logits = logits_of(shape)
    rows = np.exp(logits[:, 0] / 3)
    expected = scipy_softmax(logits / rows[:, None], axis=1)
    by_array = tempered_softmax(logits, rows)
    by_function = tempered_softmax(logits, lambda block: np.exp(block[:, 0] / 3))
    assert_allclose(by_array, expected, rtol=1e-9)
    assert_array_equal(by_function, by_array)
    by_number = tempered_softmax(logits, 2.0)
    assert_allclose(by_number, scipy_softmax(logits / 2, axis=1), rtol=1e-12)
    by_log = tempered_log_softmax(logits, rows)
    assert_allclose(np.exp(by_log), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dtype_is_kept(dtype):
    logits = logits_of((5, 4)).astype(dtype)
    for values in (
        softmax(logits),
        tempered_softmax(logits, np.ones(5)),
        tempered_log_softmax(logits, 2.0),
        *top_two(logits)[:2],
        margin(logits),
        logits_from_probabilities(softmax(logits)),
        two_columns(logits[:, 0]),
    ):
        assert values.dtype == dtype


@given(LOGITS, st.floats(-1e4, 1e4))
def test_softmax_does_not_see_a_shift_of_rows(logits, shift):
    assert_allclose(softmax(logits + shift), softmax(logits), rtol=1e-9, atol=1e-15)


@given(LOGITS, st.floats(1e-3, 1e3))
def test_softmax_is_a_distribution_that_keeps_the_largest(logits, temperature):
    probabilities = tempered_softmax(logits, temperature)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    at = np.arange(len(logits))
    top = probabilities[at, logits.argmax(axis=1)]
    assert_array_equal(top, probabilities.max(axis=1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_scale_gives_certainty_without_a_warning(dtype):
    largest = np.finfo(dtype).max / 4
    logits = np.array([[1, 0, -1], [0, 0, -1]], dtype=dtype) * largest
    expected = [[1, 0, 0], [0.5, 0.5, 0]]
    assert_allclose(softmax(logits), expected)
    assert_allclose(tempered_softmax(logits, 1e-300), expected)
    log_p = tempered_log_softmax(logits, 1e-3)
    assert np.isfinite(log_p).all()
    assert_allclose(log_p[:, 0], [0, -np.log(2)], rtol=1e-6)
    spread = tempered_softmax(logits, float(largest))
    assert_allclose(spread, scipy_softmax([[1, 0, -1], [0, 0, -1]], axis=1), 1e-6)


def test_differences_beyond_the_dtype_are_probability_zero():
    largest = np.finfo(np.float32).max
    logits = np.array([[largest, -largest]], dtype=np.float32)
    assert_allclose(softmax(logits), [[1, 0]])
    assert np.isfinite(tempered_log_softmax(logits, 1.0)).all()
    assert margin(logits) == largest


@pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_logits_are_uniform_at_any_temperature(temperature, dtype):
    zeros = np.zeros((2, 8), dtype=dtype)
    assert_array_equal(tempered_softmax(zeros, temperature), np.full((2, 8), 0.125))


@given(LOGITS)
def test_top_two_equals_a_sort(logits):
    top, runner_up, index = top_two(logits)
    ordered = np.sort(logits, axis=1)
    assert_array_equal(top, ordered[:, -1])
    assert_array_equal(runner_up, ordered[:, -2])
    assert_array_equal(index, logits.argmax(axis=1))
    assert_array_equal(margin(logits), ordered[:, -1] - ordered[:, -2])


@given(TIED_LOGITS)
def test_top_two_of_tied_logits(logits):
    top, runner_up, index = top_two(logits)
    ordered = np.sort(logits, axis=1)
    assert_array_equal(runner_up, ordered[:, -2])
    assert_array_equal(index, logits.argmax(axis=1))
    tied = (logits == top[:, None]).sum(axis=1) > 1
    assert (margin(logits)[tied] == 0).all()
    assert (margin(logits)[~tied] > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_top_two_over_blocks(shape):
    logits = logits_of(shape)
    top, runner_up, index = top_two(logits)
    two = np.partition(logits, -2, axis=1)[:, -2:]
    assert_array_equal(np.stack([runner_up, top], axis=1), two)
    assert_array_equal(index, logits.argmax(axis=1))


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (1, 1_000_000)])
def test_blocks_cover_every_row_once(shape):
    rows = np.concatenate([np.arange(shape[0])[b] for b in row_blocks(*shape)] or [[]])
    assert_array_equal(rows, np.arange(shape[0]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logits_from_probabilities(dtype):
    probabilities = np.array([[0.0, 0.25, 0.75], [0.0, 0.0, 1.0]], dtype=dtype)
    logits = logits_from_probabilities(probabilities)
    eps = np.finfo(dtype).eps
    assert_allclose(logits[0], np.log([eps, 0.25, 0.75]), rtol=1e-6)
    assert_allclose(softmax(logits), probabilities, atol=3 * eps)
    assert_array_equal(logits_from_probabilities(probabilities[1:]), logits[1:])


def test_two_columns_of_log_odds():
    assert_allclose(
        softmax(two_columns(np.array([0.0, np.log(3)]))), [[0.5, 0.5], [0.25, 0.75]]
    )


def test_keep_prediction_raises_by_one_unit_in_the_last_place():
    p = np.array([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], dtype=np.float32)
    kept = keep_prediction(p.copy(), np.array([1, 0, 1]))
    assert_array_equal(kept.argmax(axis=1), [1, 0, 1])
    assert_array_equal(kept[1:], p[1:])
    assert kept[0, 1] == np.nextafter(np.float32(0.5), np.float32(1))
    assert kept[0, 0] == p[0, 0]


def test_a_tiny_margin_at_a_high_temperature():
    logits = np.array([[0.0, 1e-4]], dtype=np.float32)
    probabilities = tempered_softmax(logits, 3000.0)
    assert probabilities.argmax() == 0  # rounding alone would change the class
    assert keep_prediction(probabilities, logits.argmax(axis=1)).argmax() == 1


def test_arrays_may_be_read_only():
    logits, temperature = read_only(logits_of((5, 4)), np.ones(5))
    softmax(logits)
    tempered_softmax(logits, temperature)
    tempered_log_softmax(logits, temperature)
    top_two(logits)
    margin(logits)
    (probabilities,) = read_only(softmax(logits))
    logits_from_probabilities(probabilities)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 10, 63, 64, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margin_softmax_equals_a_temperature_by_margin(n_classes, dtype):
    logits = logits_of((300, n_classes)).round(1).astype(dtype)  # with ties
    seen = []

    def temperature(gap):
        seen.append(gap)
        return 0.5 + gap.astype(np.float64)

    found = margin_softmax(logits, temperature)
    assert found.dtype == dtype
    assert_array_equal(np.concatenate(seen), margin(logits))
    expected = tempered_softmax(logits, 0.5 + margin(logits).astype(np.float64))
    assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    assert_array_equal(found.argmax(axis=1), logits.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 5, 80])
def test_margin_softmax_keeps_the_class_where_rounding_ties_it(n_classes):
    logits = np.zeros((3, n_classes), dtype=np.float32)
    logits[:, -1] = [1e-4, 0.0, 1.0]
    found = margin_softmax(logits, lambda gap: np.full(len(gap), 1e4))
    assert_array_equal(found.argmax(axis=1), [n_classes - 1, 0, n_classes - 1])


@pytest.mark.parametrize("shape", [(1, 5), (5, 5), (1, 80), (0, 5), (0, 80)])
def test_margin_softmax_leaves_its_input_alone(shape):
    (logits,) = read_only(logits_of(shape))
    found = margin_softmax(logits, lambda gap: np.full(len(gap), 2.0))
    assert_allclose(found, scipy_softmax(logits / 2, axis=1), rtol=1e-13)
