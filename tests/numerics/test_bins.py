"""One binning for metrics, calibrators and pictures: edges, ties, weights, dtypes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from sklearn_smart._numerics.bins import (
    DirectSoftBins,
    SoftBinTable,
    bin_index,
    bin_sums,
    equal_mass_edges,
    quantile_centres,
    soft_membership,
    uniform_centres,
    uniform_edges,
)

from .problems import read_only

# Few distinct values, so that ties are the rule.
CONFIDENCES = arrays(np.float64, st.integers(1, 40), elements=st.integers(0, 12)).map(
    lambda values: values / 12
)
ANY_CONFIDENCES = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))
N_BINS = st.integers(1, 20)


def counts(values, edges):
    return np.bincount(bin_index(values, edges), minlength=len(edges) - 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 5, 7, 10, 15, 20, 100])
def test_every_uniform_edge_belongs_to_the_bin_below_it(dtype, n_bins):
    values = np.array([b / n_bins for b in range(n_bins + 1)], dtype=dtype)
    expected = np.maximum(np.arange(n_bins + 1) - 1, 0)
    assert_array_equal(bin_index(values, uniform_edges(n_bins)), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_number_after_an_edge_belongs_to_the_bin_above_it(dtype):
    edges = uniform_edges(10)
    values = np.nextafter(edges[:-1].astype(dtype), dtype(2))
    assert_array_equal(bin_index(values, edges), np.arange(10))


def test_decimal_confidences_on_edges():
    for dtype in (np.float64, np.float32):
        values = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], dtype)
        assert_array_equal(bin_index(values, uniform_edges(10)), np.arange(10))


def test_values_outside_go_to_the_end_bins():
    assert_array_equal(bin_index(np.array([-0.5, 1.5]), uniform_edges(4)), [0, 3])


def test_equal_mass_bins_of_seven_values():
    values = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
    edges = equal_mass_edges(values, 3)
    assert_array_equal(bin_index(values, edges), [0, 0, 0, 1, 1, 2, 2])
    assert edges[0] == 0.0
    assert edges[-1] == 1.0


@pytest.mark.parametrize("n_bins", [1, 2, 5, 15])
def test_equal_mass_bins_of_distinct_values_differ_by_one_at_most(n_bins):
    values = np.random.default_rng(0).random(101)
    sizes = counts(values, equal_mass_edges(values, n_bins))
    assert sizes.max() - sizes.min() <= 1
    assert (np.diff(sizes) <= 0).all() or n_bins not in (2, 3)


def test_one_value_fills_one_bin():
    for n_bins in (1, 4):
        sizes = counts(np.full(5, 0.3), equal_mass_edges(np.full(5, 0.3), n_bins))
        assert np.count_nonzero(sizes) == 1


@given(CONFIDENCES, N_BINS)
def test_equal_values_share_a_bin(values, n_bins):
    index = bin_index(values, equal_mass_edges(values, n_bins))
    for value in np.unique(values):
        assert len(np.unique(index[values == value])) == 1


@given(CONFIDENCES, N_BINS)
def test_equal_mass_bins_follow_their_definition(values, n_bins):
    index = bin_index(values, equal_mass_edges(values, n_bins))
    smaller = np.array([np.sum(values < value) for value in values])
    assert_array_equal(index, n_bins * smaller // len(values))


@given(ANY_CONFIDENCES, N_BINS)
def test_bins_keep_the_order_of_values(values, n_bins):
    for edges in (uniform_edges(n_bins), equal_mass_edges(values, n_bins)):
        index = bin_index(np.sort(values), edges)
        assert (np.diff(index) >= 0).all()
        assert index.min() >= 0
        assert index.max() < n_bins


@given(st.data())
def test_integer_weights_are_repetitions(data):
    values = data.draw(CONFIDENCES)
    n_bins = data.draw(N_BINS)
    times = data.draw(arrays(np.int64, len(values), elements=st.integers(1, 4)))
    weight = times.astype(float)
    repeated = np.repeat(values, times)
    edges = equal_mass_edges(values, n_bins, weight)
    assert_array_equal(edges, equal_mass_edges(repeated, n_bins))
    assert_array_equal(
        quantile_centres(values, n_bins, weight), quantile_centres(repeated, n_bins)
    )
    index = bin_index(values, edges)
    assert_allclose(
        bin_sums(index, n_bins, values, sample_weight=weight),
        bin_sums(bin_index(repeated, edges), n_bins, repeated),
        rtol=1e-12,
    )


@given(ANY_CONFIDENCES, N_BINS, st.sampled_from([1e-6, 0.1, 1 / 3, 1e6]))
def test_scale_of_weights_does_not_move_edges(values, n_bins, scale):
    weight = np.full(len(values), scale)
    assert_array_equal(
        equal_mass_edges(values, n_bins, weight), equal_mass_edges(values, n_bins)
    )
    assert_array_equal(
        quantile_centres(values, n_bins, weight), quantile_centres(values, n_bins)
    )


@given(ANY_CONFIDENCES, N_BINS, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(values, n_bins, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert_array_equal(
        equal_mass_edges(values, n_bins), equal_mass_edges(shuffled, n_bins)
    )
    assert_array_equal(
        quantile_centres(values, n_bins), quantile_centres(shuffled, n_bins)
    )


@given(
    arrays(np.float32, st.integers(1, 30), elements=st.floats(0, 1, width=32)), N_BINS
)
def test_float32_values_find_their_own_equal_mass_edges(values, n_bins):
    index = bin_index(values, equal_mass_edges(values, n_bins))
    wide = values.astype(np.float64)
    assert_array_equal(index, bin_index(wide, equal_mass_edges(wide, n_bins)))


def test_sums_per_bin():
    index, weight = np.array([0, 0, 2]), np.array([2.0, 1.0, 4.0])
    first, second = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    assert_allclose(
        bin_sums(index, 4, first, second), [[2, 0, 1, 0], [3, 0, 3, 0], [1, 0, 1, 0]]
    )
    assert_allclose(
        bin_sums(index, 4, first, second, sample_weight=weight),
        [[3, 0, 4, 0], [4, 0, 12, 0], [2, 0, 4, 0]],
    )


def test_float32_columns_are_summed_in_float64():
    values = np.full(200_000, 0.1, dtype=np.float32)
    index = np.zeros(len(values), dtype=np.intp)
    sums = bin_sums(index, 1, values)
    assert_allclose(sums[1, 0], len(values) * float(np.float32(0.1)), rtol=1e-12)


def test_centres():
    assert_allclose(uniform_centres(4), [0.125, 0.375, 0.625, 0.875])
    assert_allclose(quantile_centres(np.array([0.2, 0.9, 0.4, 0.6]), 2), [0.2, 0.6])


@given(ANY_CONFIDENCES, N_BINS, st.sampled_from([1e-4, 0.05, 1.0]))
def test_memberships_are_a_softmax_of_squared_distances(values, n_bins, bandwidth):
    centres = uniform_centres(n_bins)
    member = soft_membership(values, centres, bandwidth)
    distance = ((values[:, None] - centres) / bandwidth) ** 2
    assert_allclose(member, softmax(-0.5 * distance, axis=1), rtol=1e-7, atol=1e-14)
    assert_allclose(member.sum(axis=1), 1.0, rtol=1e-12)


def test_arrays_may_be_read_only():
    values, weight, edges = read_only([0.2, 0.4, 0.9], [1.0, 2.0, 1.0], [0, 0.5, 1.0])
    equal_mass_edges(values, 2, weight)
    quantile_centres(values, 2, weight)
    index = bin_index(values, edges)
    bin_sums(index, 2, values, sample_weight=weight)
    soft_membership(values, edges, 0.1)


@pytest.mark.parametrize("bandwidth", [0.02, 0.05, 0.3])
@pytest.mark.parametrize("n_bins", [1, 5, 15])
def test_table_of_soft_bins_equals_the_memberships(n_bins, bandwidth):
    rng = np.random.default_rng(0)
    confidence = np.concatenate([rng.random(200), [0.0, 1.0, 0.5]])
    centres = uniform_centres(n_bins)
    direct = DirectSoftBins(confidence, centres, bandwidth)
    places = SoftBinTable(centres, bandwidth).place(confidence)
    weight, per_bin = rng.normal(size=len(confidence)), rng.normal(size=n_bins)
    assert_allclose(places.sums(weight), direct.sums(weight), atol=1e-6)
    for got, want in zip(places.mix(per_bin), direct.mix(per_bin), strict=True):
        assert_allclose(got, want, rtol=1e-4, atol=1e-6)
