"""The raw output of a posterior: inverse of the inverse link."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_smart._numerics.fields import LinkedField, WeightedField
from sklearn_smart._numerics.forward_links import ForwardLink
from sklearn_smart._numerics.inverse_links import field_log_posterior
from sklearn_smart._numerics.uncertainty_weights import (
    BrierWeight,
    CrossEntropyWeight,
    FocalWeight,
)

WEIGHTS = [
    CrossEntropyWeight(),
    FocalWeight(1.0),
    FocalWeight(4.0),
    BrierWeight(0.5),
    BrierWeight(2.0),
    BrierWeight(4.0),
    BrierWeight(2.0, norm=1.0),
    BrierWeight(2.0, norm=1.5),
    BrierWeight(4.0, norm=4.0),
    BrierWeight(2.0, norm=np.inf),
]


def make_scores(n_classes, scale=3.0, n=60, seed=0):
    return scale * np.random.default_rng(seed).normal(size=(n, n_classes))


def log_softmax(scores):
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0, 3000.0])
def test_round_trip(weight, n_classes, scale):
    """Also where the posterior is at one class beyond the reach of floats."""
    scores = make_scores(n_classes, scale)
    found = field_log_posterior(weight, ForwardLink(weight, scores).raw_logits)
    expected = log_softmax(scores)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-800, 800), min_size=2, max_size=6),
    st.floats(0, 6),
    st.floats(1, 5),
)
def test_round_trip_of_any_row(row, gamma, norm):
    weight = BrierWeight(gamma, norm=norm)
    scores = np.array([row, row[::-1]])
    raw = ForwardLink(weight, scores).raw_logits
    assert_allclose(raw[0], raw[1, ::-1], rtol=1e-9, atol=1e-9)
    assert_allclose(
        field_log_posterior(weight, raw), log_softmax(scores), rtol=1e-9, atol=1e-8
    )


def test_closed_forms():
    scores = make_scores(2)
    for weight in (FocalWeight(3.0), BrierWeight(3.0), BrierWeight(3.0, norm=1.0)):
        raw = ForwardLink(weight, scores).raw_logits
        gap = scores[:, 1] - scores[:, 0]
        assert_allclose(raw[:, 1] - raw[:, 0], gap / 4, rtol=1e-12, atol=1e-12)
    scores = make_scores(5)
    raw = ForwardLink(CrossEntropyWeight(), scores).raw_logits
    assert_allclose(log_softmax(raw), log_softmax(scores), atol=1e-12)
    raw = ForwardLink(BrierWeight(2.0), np.zeros((3, 4))).raw_logits
    assert_allclose(raw, 0, atol=1e-13)


@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_derivative(weight, n_classes):
    scores = make_scores(n_classes)
    direction = np.random.default_rng(1).normal(size=scores.shape)
    found = ForwardLink(weight, scores).derivative(direction)
    step = 1e-5
    after = ForwardLink(weight, scores + step * direction).raw_logits
    before = ForwardLink(weight, scores - step * direction).raw_logits
    assert_allclose(found, (after - before) / (2 * step), rtol=1e-5, atol=1e-6)


def test_from_near_by():
    """The same result from another start, to the square of a tenth of the move."""
    weight = BrierWeight(2.0)
    first = ForwardLink(weight, make_scores(6))
    for size in (1e-4, 1e-2, 1.0, 30.0):
        scores = make_scores(6) + make_scores(6, size, seed=2)
        found = ForwardLink(weight, scores, first).raw_logits
        expected = ForwardLink(weight, scores).raw_logits
        assert_allclose(found, expected, atol=max(1e-9, 0.01 * min(size, 2) ** 2))


def test_single_precision_scores_are_solved_in_double():
    scores = make_scores(10, 30.0).astype(np.float32)
    raw = ForwardLink(BrierWeight(2.0), scores).raw_logits
    assert raw.dtype == np.float32
    expected = ForwardLink(BrierWeight(2.0), scores.astype(np.float64)).raw_logits
    assert_allclose(raw, expected, rtol=1e-6)


@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
class TestLinkedField:
    def test_is_the_field_at_the_raw_output(self, weight, n_classes):
        scores = make_scores(n_classes)
        rng = np.random.default_rng(2)
        y, mass = rng.integers(n_classes, size=len(scores)), rng.uniform(size=60)
        at = LinkedField(weight)(scores, y, mass)
        raw = ForwardLink(weight, scores).raw_logits
        assert_allclose(at.value, WeightedField(weight)(raw, y, mass).value, atol=1e-12)
        value, field = LinkedField(weight).monitored(scores, y, mass)
        assert_array_equal(field, at.value)
        assert value > 0

    def test_has_mean_zero_over_the_posterior(self, weight, n_classes):
        scores = make_scores(n_classes)
        posterior = np.exp(log_softmax(scores))
        ones = np.ones(len(scores))
        mean = sum(
            posterior[:, k, None]
            * LinkedField(weight)(scores, np.full(len(scores), k), ones).value
            for k in range(n_classes)
        )
        assert_allclose(mean, 0, atol=1e-12)

    def test_derivative(self, weight, n_classes):
        scores = make_scores(n_classes)
        rng = np.random.default_rng(3)
        y, mass = rng.integers(n_classes, size=len(scores)), rng.uniform(size=60)
        direction = rng.normal(size=scores.shape)
        field, step = LinkedField(weight), 1e-5
        after = field(scores + step * direction, y, mass).value
        before = field(scores - step * direction, y, mass).value
        assert_allclose(
            field(scores, y, mass).derivative(direction),
            (after - before) / (2 * step),
            rtol=1e-5,
            atol=1e-7,
        )

    def test_curvature_is_the_mean_derivative(self, weight, n_classes):
        """Over the posterior, and over the classes of the diagonal."""
        scores = make_scores(n_classes)
        posterior = np.exp(log_softmax(scores))
        expected = np.zeros(len(scores))
        for label in range(n_classes):
            at = LinkedField(weight)(
                scores, np.full(len(scores), label), np.ones(len(scores))
            )
            for k in range(n_classes):
                direction = np.zeros_like(scores)
                direction[:, k] = 1.0
                expected += posterior[:, label] * at.derivative(direction)[:, k]
            found = at.curvature()
        assert_allclose(found, expected / max(2, n_classes - 1), rtol=1e-5)
