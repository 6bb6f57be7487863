"""Smoothing by cosines against sums over all pairs, and the metrics built on it."""

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_smart.metrics import (
    expected_calibration_error,
    kde_calibration_error,
    smooth_calibration_error,
)
from sklearn_smart.metrics._smoothing import MirroredSum, gaussian, integral, triweight

NODES = np.arange(1025) / 1024


def pairwise(kernel, sigma, values, mass, at=NODES):
    """Sum over samples and over mirror images."""
    total = np.zeros(len(at))
    reach = int(np.ceil(4 * sigma))
    for shift in range(-reach, reach + 1):
        for image in (2 * shift + values, 2 * shift - values):
            total += kernel((at[:, None] - image) / sigma) @ mass / sigma
    return total


def triweight_density(u):
    return 35 / 32 * np.maximum(1 - (u / 3) ** 2, 0) ** 3 / 3


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(100), [0, 0, 1, 1, 0.25]])
    return values, rng.normal(size=len(values))


@pytest.mark.parametrize("sigma", [1.0, 0.3, 0.05, 0.02])
def test_mirrored_sums(sigma, points):
    values, mass = points
    smoothed = MirroredSum(values, [mass, mass**2], 1024)
    for transform, density in (
        (gaussian(sigma), norm.pdf),
        (triweight(sigma), triweight_density),
    ):
        expected = pairwise(density, sigma, values, mass)
        np.testing.assert_allclose(
            smoothed.at_nodes(transform)[0],
            expected,
            atol=2e-6 * np.abs(expected).max(),
        )


def test_mass_is_kept(points):
    values, mass = points
    smoothed = MirroredSum(values, [mass], 1024).at_nodes(gaussian(0.1))
    assert integral(smoothed)[0] == pytest.approx(mass.sum(), abs=1e-10)


def problem(n=150, seed=0, skill=1.7):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.5, 1.0, n)
    return (rng.random(n) < p**skill).astype(int), p


def smooth_error_over_pairs(y, p):
    low, high = 1e-3, 0.4
    for _ in range(18):
        sigma = (low + high) / 2
        value = integral(np.abs(pairwise(norm.pdf, sigma, p, (p - y) / len(p))))
        low, high = (sigma, high) if value > sigma else (low, sigma)
    return sigma


@pytest.mark.parametrize("seed", range(3))
def test_smooth_error_is_its_fixed_point(seed):
    y, p = problem(seed=seed)
    value = smooth_calibration_error(y, p, kind="positive_class")
    assert value == pytest.approx(smooth_error_over_pairs(y, p), rel=1e-4)


def test_smooth_error_of_a_constant_bias():
    # All residuals have one sign: the integral is the mean residual for every width.
    y, p = [0, 0, 1, 1], [0.9] * 4
    assert smooth_calibration_error(y, p) == pytest.approx(0.4, abs=1e-6)
    assert smooth_calibration_error([0, 0], [1.0, 1.0], labels=[0, 1]) == 1.0


def test_smooth_error_of_certain_and_right_predictions_is_0():
    assert smooth_calibration_error([0, 1, 1], [0.0, 1.0, 1.0]) == 0


def test_smooth_error_is_continuous():
    # Where the binned error jumps as a probability crosses an edge, this does not.
    y, p = [0, 1] * 50, np.r_[np.full(50, 0.5), np.full(50, 0.5)]
    step = np.where(np.array(y) == 1, 1e-9, -1e-9)
    jump = expected_calibration_error(
        y, p + step, n_bins=2, kind="positive_class"
    ) - expected_calibration_error(y, p, n_bins=2, kind="positive_class")
    assert jump > 0.4
    assert smooth_calibration_error(
        y, p + step, kind="positive_class"
    ) == pytest.approx(smooth_calibration_error(y, p, kind="positive_class"), abs=1e-6)


def test_smooth_error_of_small_errors_uses_the_fine_grid():
    p = np.full(100_000, 0.5002)
    y = np.arange(100_000) % 2
    value = smooth_calibration_error(y, p, kind="positive_class")
    assert value == pytest.approx(2e-4, rel=1e-3)


@pytest.mark.parametrize("bandwidth", [None, 0.03, 0.2])
def test_kde_error_over_pairs(bandwidth):
    y, p = problem()
    sigma = p.std() * (2 * len(p)) ** -0.2 if bandwidth is None else bandwidth
    density = pairwise(triweight_density, sigma, p, np.full(len(p), 1 / len(p)))
    happened = pairwise(triweight_density, sigma, p, y / len(p))
    expected = integral(np.abs(NODES * density - happened))
    value = kde_calibration_error(y, p, kind="positive_class", bandwidth=bandwidth)
    assert value == pytest.approx(expected, rel=1e-4)


def test_kde_error_of_equal_probabilities():
    assert kde_calibration_error([0, 0, 1, 1], [0.9] * 4) == pytest.approx(
        0.4, abs=1e-3
    )


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf, "a"])
def test_kde_bandwidth_errors(bandwidth):
    with pytest.raises(ValueError, match="'bandwidth' parameter"):
        kde_calibration_error([0, 1], [0.1, 0.9], bandwidth=bandwidth)
