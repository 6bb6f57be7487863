"""Uncertainty weights, fields, potentials and inverse links."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from sklearn_smart._numerics.fields import WeightedField, potential
from sklearn_smart._numerics.inverse_links import (
    field_log_posterior,
    log_probabilities,
    loss_log_posterior,
)
from sklearn_smart._numerics.losses import WeightedCrossEntropy
from sklearn_smart._numerics.uncertainty_weights import (
    BrierWeight,
    CrossEntropyWeight,
    DualFocalWeight,
    FocalWeight,
    LabelledRows,
    SampleDependentFocalWeight,
    TopLabelBrierWeight,
)

WEIGHTS = [
    CrossEntropyWeight(),
    FocalWeight(1.0),
    FocalWeight(3.0),
    SampleDependentFocalWeight(),
    DualFocalWeight(5.0),
    TopLabelBrierWeight(2.0),
    BrierWeight(0.0),
    BrierWeight(0.5, norm=1.5),
    BrierWeight(1.0, norm=1.0),
    BrierWeight(2.0, norm=2.0),
    BrierWeight(4.0, norm=2.0),
    BrierWeight(2.0, norm=np.inf),
]
INVERTIBLE = [weight for weight in WEIGHTS if weight.invertible]


def sample(n_classes, n=40, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n, n_classes))
    return logits, rng.integers(n_classes, size=n), rng.uniform(0.5, 2, size=n)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def by_definition(weight, p, y):
    """u(p, y) of one row, as the papers write it."""
    p_y, others = p[y], np.delete(p, y)
    match weight:
        case CrossEntropyWeight():
            return 1.0
        case SampleDependentFocalWeight():
            return (1 - p_y) ** (5 if p_y < 0.2 else 3)
        case DualFocalWeight():
            below = others[others < p_y]
            return (1 - p_y + (below.max() if below.size else 0)) ** weight.gamma
        case TopLabelBrierWeight():
            return abs(float(p.argmax() == y) - p.max()) ** weight.gamma
        case BrierWeight():
            distance = np.linalg.norm(p - np.eye(len(p))[y], ord=weight.norm)
            return distance**weight.gamma
    return (1 - p_y) ** weight.gamma


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
def test_weight_and_field_by_definition(weight, n_classes):
    logits, y, w = sample(n_classes)
    p = softmax(logits)
    u = np.array([by_definition(weight, p[i], y[i]) for i in range(len(y))])
    assert_allclose(weight.value(LabelledRows(logits, y)), u, rtol=1e-12)
    expected = (w * u)[:, None] * (p - np.eye(n_classes)[y])
    field = WeightedField(weight)(logits, y, w).value
    assert_allclose(field, expected, atol=1e-14)
    assert_allclose(field.sum(axis=1), 0, atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
def test_derivative_of_the_field(weight, n_classes):
    logits, y, w = sample(n_classes)
    direction = np.random.default_rng(1).normal(size=logits.shape)
    field, h = WeightedField(weight), 1e-6
    at = field(logits, y, w)
    ahead = field(logits + h * direction, y, w).value
    behind = field(logits - h * direction, y, w).value
    derivative = at.derivative(direction)
    assert_allclose(derivative, (ahead - behind) / (2 * h), atol=2e-8)
    product = np.einsum("njk,nk->nj", at.jacobian(), direction)
    assert_allclose(derivative, product, atol=1e-13)
    assert (at.curvature() >= 0).all()


def test_monitored_number_is_weight_times_cross_entropy():
    logits, y, w = sample(3)
    weight = BrierWeight(2.0)
    value, field = WeightedField(weight).monitored(logits, y, w)
    rows = LabelledRows(logits, y)
    assert_allclose(value, (w * weight.value(rows) * rows.cross_entropy).sum())
    assert_array_equal(field, WeightedField(weight)(logits, y, w).value)


@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
@pytest.mark.parametrize("far", [40.0, 800.0, 1e300, np.inf])
def test_p_exactly_at_one_class(weight, far):
    """At the label weight and field vanish, at another class the field is finite."""
    logits = np.array([[0.0, -far, -far], [-far, 0.0, -far], [-far, -far, 0.0]])
    y, one = np.zeros(3, dtype=int), np.ones(3)
    with np.errstate(all="raise", under="ignore"):
        at = WeightedField(weight)(logits, y, one)
        u = weight.value(at.rows)
        assert np.isfinite(weight.log_gradient(at.rows)).all()
    expected = 1.0 if weight.constant else 0.0
    assert_allclose(u[0], expected, atol=1e-8 if far == 40 else 1e-170)
    assert_allclose(at.value[0], 0, atol=1e-16)
    assert np.isfinite(at.value).all()
    assert (at.value[1:, 0] < 0).all()
    if far == np.inf:
        assert u[0] == expected
        assert not at.value[0].any()


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 2.0, 4.0])
def test_norm_one_is_focal_times_a_constant_and_norm_inf_is_focal(gamma):
    logits, y, _ = sample(5)
    rows = LabelledRows(logits, y)
    focal = FocalWeight(gamma).value(rows)
    assert_allclose(BrierWeight(gamma, norm=1.0).value(rows), 2**gamma * focal)
    assert_allclose(BrierWeight(gamma, norm=np.inf).value(rows), focal)


@pytest.mark.parametrize("gamma", [0.5, 1, 2, 2.5, 4, 7.9, 9, 30])
@pytest.mark.parametrize("v", [1e-6, 0.1, 0.49, 0.51, 0.8, 0.999])
def test_potential_is_the_integral_of_the_weight(gamma, v):
    miss = np.array([v])
    value = potential([(1.0, 3.0, gamma)], miss, -np.log1p(-miss))
    integral, _ = quad(lambda s: s**gamma / (1 - s), 0, v, epsabs=0, epsrel=1e-12)
    assert_allclose(value, 3 * integral, rtol=2e-11)


def test_potential_of_a_certain_miss_grows_as_the_cross_entropy():
    miss, cross_entropy = np.array([1.0, 1.0]), np.array([100.0, 250.0])
    value = potential([(1.0, 1.0, 2.0)], miss, cross_entropy)
    assert_allclose(value, cross_entropy - 1.5)


@pytest.mark.parametrize(
    ("weight", "n_classes"),
    [(weight, k) for weight in WEIGHTS for k in (2, 4) if weight.pieces(k)],
    ids=repr,
)
def test_field_is_the_gradient_of_the_potential(weight, n_classes):
    logits, y, _ = sample(n_classes)
    direction, h = np.random.default_rng(1).normal(size=logits.shape), 1e-6

    def value(z):
        rows = LabelledRows(z, y)
        return potential(weight.pieces(n_classes), rows.miss, rows.cross_entropy)

    change = (value(logits + h * direction) - value(logits - h * direction)) / (2 * h)
    field = WeightedField(weight)(logits, y, np.ones(len(y))).value
    assert_allclose((field * direction).sum(axis=1), change, atol=2e-8)


@pytest.mark.parametrize(
    "weight", [BrierWeight(2.0), DualFocalWeight(), TopLabelBrierWeight()], ids=repr
)
def test_other_fields_are_no_gradient(weight):
    assert weight.pieces(3) is None
    logits, y, w = sample(3)
    jacobian = WeightedField(weight)(logits, y, w).jacobian()
    assert np.abs(jacobian - jacobian.transpose(0, 2, 1)).max() > 1e-2


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("weight", INVERTIBLE, ids=repr)
def test_posterior_makes_the_output_stationary(weight, n_classes):
    logits, _, _ = sample(n_classes, scale=3.0)
    eta = np.exp(field_log_posterior(weight, logits))
    assert_allclose(eta.sum(axis=1), 1)
    assert_array_equal(eta.argmax(axis=1), logits.argmax(axis=1))
    mean = 0.0
    for k in range(n_classes):
        label = np.full(len(logits), k)
        field = WeightedField(weight)(logits, label, np.ones(len(logits)))
        mean = mean + eta[:, [k]] * field.value
    assert_allclose(mean, 0, atol=1e-14)


@pytest.mark.parametrize(
    "weight",
    [FocalWeight(2.0), BrierWeight(2.0), BrierWeight(1.0, norm=3.0), BrierWeight(0.0)],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_posterior_of_the_loss_form(weight, n_classes):
    logits, _, _ = sample(n_classes, scale=3.0)
    loss = WeightedCrossEntropy(weight)
    log_eta, negative = loss_log_posterior(loss, logits)
    eta = np.exp(log_eta)
    assert not negative.any()
    assert_allclose(eta.sum(axis=1), 1)
    mean = 0.0
    for k in range(n_classes):
        label = np.full(len(logits), k)
        _, gradient = loss(logits, label, np.ones(len(logits)))
        mean = mean + eta[:, [k]] * gradient
    assert_allclose(mean, 0, atol=1e-12)


def test_focal_posterior_has_the_closed_form_of_the_literature():
    """arXiv 2011.09172, theorem 11: eta is proportional to p / phi(p)."""
    logits, _, _ = sample(4)
    p, gamma = softmax(logits), 2.0
    phi = (1 - p) ** gamma - gamma * (1 - p) ** (gamma - 1) * p * np.log(p)
    expected = p / phi / (p / phi).sum(axis=1, keepdims=True)
    log_eta, _ = loss_log_posterior(WeightedCrossEntropy(FocalWeight(gamma)), logits)
    assert_allclose(np.exp(log_eta), expected, rtol=1e-9)


def test_negative_null_vectors_are_counted():
    """A loss whose gradient for one label points to it can have no posterior."""
    rates = np.array([[-1.0, 2.0, -1.0], [1.0, -2.0, 1.0], [0.5, 0.5, -1.0]])

    def loss(logits, y, weight):
        return 0.0, rates[y]

    _, negative = loss_log_posterior(loss, np.zeros((2, 3)))
    null = np.linalg.svd(rates.T)[2][-1]
    null /= null.sum()
    assert_allclose(negative, np.maximum(-null, 0).sum(), atol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_posterior_of_two_classes_scales_the_log_odds(gamma, norm):
    logits, _, _ = sample(2)
    log_eta = field_log_posterior(BrierWeight(gamma, norm=norm), logits)
    odds, raw = np.diff(log_eta, axis=1), np.diff(logits, axis=1)
    assert_allclose(odds, (1 + gamma) * raw, atol=1e-10)


@pytest.mark.parametrize("far", [50.0, 1000.0, 1e6])
@pytest.mark.parametrize("weight", INVERTIBLE, ids=repr)
def test_posterior_of_a_certain_output_is_that_class(weight, far):
    logits = np.array([[far, 0.0, -1.0], [far, far, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        log_eta = field_log_posterior(weight, logits)
    assert np.isfinite(log_eta).all()
    assert_array_equal(log_eta.argmax(axis=1), [0, 0])
    assert_allclose(np.exp(log_eta[1]), [0.5, 0.5, 0], atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-700, 700), min_size=3, max_size=3),
    st.sampled_from(INVERTIBLE),
    st.floats(-1e3, 1e3),
)
def test_posterior_keeps_the_order_and_ignores_a_shift(row, weight, shift):
    logits = np.array([row])
    log_eta = field_log_posterior(weight, logits)
    order = np.argsort(logits[0], kind="stable")
    assert (np.diff(log_eta[0][order]) >= -1e-9).all()
    # A shift rounds the logits themselves.
    atol = 1e-9 * max(1, np.ptp(row))
    assert_allclose(
        np.exp(field_log_posterior(weight, logits + shift)), np.exp(log_eta), atol=atol
    )


def test_log_probabilities_keep_their_digits():
    log_p, log_rest = log_probabilities(np.array([[0.0, -50.0, -60.0]]))
    total = np.exp(-50) + np.exp(-60)
    assert_allclose(log_p[0, 0], -np.log1p(total), rtol=1e-12)
    assert_allclose(log_rest[0, 0], np.log(total) - np.log1p(total), rtol=1e-12)
    assert_allclose(np.exp(log_rest[0, 1:]), 1)


# Seed 1 of the reference values, rounded to ten digits.
LOGITS = np.array([[0.691, 1.643, 0.661, -2.606], [1.811, 0.893, -1.074, 1.162]])
LABELS = np.array([2, 3])
REFERENCE = {
    "brier_2_2": [0.9872769054, 0.8385878676],
    "brier_4_2": [0.9747156880, 0.7032296117],
    "focal_3": [0.4910883344, 0.3983228887],
    "dual_focal_5": [0.3215856723, 0.7248949283],
    "posterior_2_2": [
        [0.0915668247, 0.8183604507, 0.0877036417, 0.0023690829],
        [0.7223536298, 0.1065426466, 0.0109531639, 0.1601505597],
    ],
    "posterior_1_1": [
        [0.1506960330, 0.6998551721, 0.1450509316, 0.0043978633],
        [0.6146712787, 0.1520409212, 0.0174662320, 0.2158215681],
    ],
}


def test_reference_values():
    rows = LabelledRows(LOGITS, LABELS)
    for name, weight in {
        "brier_2_2": BrierWeight(2.0),
        "brier_4_2": BrierWeight(4.0),
        "focal_3": FocalWeight(3.0),
        "dual_focal_5": DualFocalWeight(5.0),
    }.items():
        assert_allclose(weight.value(rows), REFERENCE[name], atol=1e-10)
    for name, weight in {
        "posterior_2_2": BrierWeight(2.0),
        "posterior_1_1": BrierWeight(1.0, norm=1.0),
    }.items():
        eta = np.exp(field_log_posterior(weight, LOGITS))
        assert_allclose(eta, REFERENCE[name], atol=1e-10)


def test_values_given_beside_the_repository(shared):
    path = shared / "gold" / "objectives.json"
    for case in json.loads(path.read_text("utf-8"))["cases"]:
        logits, y = np.array(case["logits"]), np.array(case["labels"])
        rows = LabelledRows(logits, y)
        for given_values in case["brier_weighted"]:
            weight = BrierWeight(given_values["gamma"], norm=given_values["norm"])
            field = WeightedField(weight)(logits, y, np.ones(len(y))).value
            assert_allclose(weight.value(rows), given_values["weight"], rtol=1e-13)
            assert_allclose(field, given_values["field_wrt_logits"], atol=1e-14)
        for weight, key in [
            (FocalWeight(3.0), "focal_weight_gamma3"),
            (DualFocalWeight(5.0), "dual_focal_weight_gamma5"),
            (SampleDependentFocalWeight(), "flsd53_weight"),
        ]:
            assert_allclose(weight.value(rows), case[key], rtol=1e-13)
        for weight, key in [
            (BrierWeight(2.0), "bayes_posterior_gamma2_norm2"),
            (BrierWeight(1.0, norm=1.0), "bayes_posterior_gamma1_norm1"),
        ]:
            eta = np.exp(field_log_posterior(weight, logits))
            assert_allclose(eta, case[key], atol=1e-14)
