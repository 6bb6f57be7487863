"""The kernel-smoothed reliability curve against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_smart.metrics import smooth_calibration_error, smooth_reliability


def make(n=400, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.beta(2, 3, n)
    return (rng.random(n) < prob**1.3).astype(int), prob


def kernel(t, v, sigma):
    """A Gaussian mirrored at 0 and 1, as many times as it takes."""
    out = 0
    for k in range(-3, 4):
        for image in (v + 2 * k, -v + 2 * k):
            out = out + np.exp(-(((t[:, None] - image) / sigma) ** 2) / 2)
    return out / (sigma * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_definition(sigma, weighted):
    y, prob = make()
    weight = np.random.default_rng(1).integers(0, 4, len(y)) if weighted else None
    curve = smooth_reliability(
        y,
        prob,
        bandwidth=sigma,
        kind="positive_class",
        sample_weight=weight,
        n_points=17,
    )
    w = np.ones(len(y)) if weight is None else weight
    table = kernel(np.linspace(0, 1, 17), prob, sigma)
    mass = table @ w
    assert_array_equal(curve.prob, np.linspace(0, 1, 17))
    assert_allclose(curve.density, mass / w.sum(), atol=1e-9)
    assert_allclose(curve.frequency, table @ (w * y) / mass, atol=1e-6)
    expected = np.sqrt(table**2 @ (w * prob * (1 - prob))) / mass
    if sigma < 0.2:  # wider kernels meet more than one mirror image
        assert_allclose(curve.standard_error, expected, rtol=1e-5)
    assert curve.bandwidth == sigma
    assert curve.event == "class 1"


def test_bandwidth_is_the_smooth_calibration_error():
    y, prob = make()
    for kind in ("positive_class", "top_label"):
        curve = smooth_reliability(y, prob, kind=kind)
        assert curve.bandwidth == smooth_calibration_error(y, prob, kind=kind)
    assert smooth_reliability([0, 1], [0.0, 1.0]).bandwidth == 0.01


def test_constant_probability_has_one_frequency():
    curve = smooth_reliability([1, 1, 0, 1], np.full(4, 0.7), kind="positive_class")
    near = np.abs(curve.prob - 0.7) < 0.1
    assert_allclose(curve.frequency[near], 0.75, atol=1e-9)
    far = smooth_reliability(
        [1, 1, 0, 1], np.full(4, 0.9), kind="positive_class", bandwidth=0.02
    )
    assert np.isnan(far.frequency[0])


def test_weight_is_repetition_and_order_does_not_matter():
    y, prob = make(100)
    weight = np.arange(100) % 3
    given = smooth_reliability(y, prob, sample_weight=weight)
    repeated = smooth_reliability(np.repeat(y, weight), np.repeat(prob, weight))
    turned = smooth_reliability(y[::-1], prob[::-1], sample_weight=weight[::-1])
    for other in (repeated, turned):
        assert_allclose(given.frequency, other.frequency, atol=1e-9)


def test_classes():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), 200)
    y = np.array(["a", "b", "c"])[rng.integers(3, size=200)]
    curves = smooth_reliability(y, prob, kind="class_wise")
    assert [curve.event for curve in curves] == ["class a", "class b", "class c"]
    alone = smooth_reliability(y, prob, kind="positive_class", pos_label="b")
    assert_array_equal(curves[1].frequency, alone.frequency)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": 0}, "'bandwidth'"),
        ({"bandwidth": "auto"}, "'bandwidth'"),
        ({"n_points": 100}, "'n_points'"),
        ({"n_points": True}, "'n_points'"),
        ({"kind": "all"}, "'kind'"),
        ({"sample_weight": [-1, 1]}, "sample_weight"),
    ],
)
def test_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        smooth_reliability([0, 1], [0.2, 0.8], **settings)
