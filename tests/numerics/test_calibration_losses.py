"""Every property over one list of losses: value, gradient, weights, dtypes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from sklearn_smart._numerics.bins import quantile_centres, uniform_centres
from sklearn_smart._numerics.calibration_losses import (
    CharbonnierSoftECE,
    brier_score,
    log_loss,
    top_label_log_loss,
)
from sklearn_smart._numerics.logits import margin
from sklearn_smart._numerics.tempered import TemperedLogits

from .problems import GOLD, finite_difference, make_problem, read_only

QUANTILES = quantile_centres(softmax(make_problem()[0], axis=1).max(axis=1), 7)
LOSSES = {
    "log_loss": log_loss,
    "brier_score": brier_score,
    "top_label_log_loss": top_label_log_loss,
    "charbonnier-uniform": CharbonnierSoftECE(uniform_centres(15), 0.05, 1e-3),
    "charbonnier-quantile": CharbonnierSoftECE(QUANTILES, 0.05, 1e-3),
    "charbonnier-smooth": CharbonnierSoftECE(uniform_centres(5), 0.2, 0.5),
    "charbonnier-one-bin": CharbonnierSoftECE(uniform_centres(1), 0.1, 1e-2),
    "soft_ece-uniform": CharbonnierSoftECE(uniform_centres(10), 0.1, 0.0),
    "soft_ece-quantile": CharbonnierSoftECE(QUANTILES, 0.1, 0.0),
}
SOFT = {name: loss for name, loss in LOSSES.items() if "soft" in name or "char" in name}


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


def evaluate(loss, logits, y, temperature, weight):
    """Value, and gradient with respect to each row's temperature."""
    beta = 1 / np.asarray(temperature)
    value, gradient = loss(TemperedLogits(logits, y).at(beta), weight)
    return value, -gradient * beta**2


def soft_ece_by_definition(confidence, correct, weight, loss):
    """The formula of the documentation, bin by bin."""
    total = 0.0
    member = np.exp(-0.5 * ((confidence[:, None] - loss.centres) / loss.bandwidth) ** 2)
    member /= member.sum(axis=1, keepdims=True)
    for column in (member * weight[:, None]).T:
        signed = np.sum(column * (confidence - correct))
        total += np.sqrt(signed**2 + (loss.smoothing * column.sum()) ** 2)
    return total / weight.sum()


@pytest.mark.parametrize("case", GOLD)
def test_soft_ece_equals_reference_values(case):
    logits, y = np.array(case["logits"]), np.array(case["labels"])
    temperature, weight = np.array(case["temperatures"]), np.ones(len(y))
    centres = uniform_centres(case["n_bins"])
    charbonnier = CharbonnierSoftECE(centres, case["bandwidth"], case["smoothing"])
    value, gradient = evaluate(charbonnier, logits, y, temperature, weight)
    assert_allclose(value, case["charbonnier_soft_ece"], rtol=1e-12)
    assert_allclose(gradient, case["d_charbonnier_d_temperature"], rtol=1e-9)
    plain = CharbonnierSoftECE(centres, case["bandwidth"], 0.0)
    value, _ = evaluate(plain, logits, y, temperature, weight)
    assert_allclose(value, case["soft_ece"], rtol=1e-12)
    assert_allclose(margin(logits), case["margins"], rtol=1e-12)


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("n_classes", [2, 4, 30])
def test_soft_ece_equals_its_definition(name, n_classes):
    logits, y, temperature, weight = make_problem(n_classes=n_classes)
    probabilities = softmax(logits / temperature[:, None], axis=1)
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    expected = soft_ece_by_definition(confidence, correct, weight, SOFT[name])
    value, _ = evaluate(SOFT[name], logits, y, temperature, weight)
    assert_allclose(value, expected, rtol=1e-12)


def test_proper_scores_equal_their_definitions():
    logits, y, temperature, weight = make_problem()
    log_p = log_softmax(logits / temperature[:, None], axis=1)
    p, share = np.exp(log_p), weight / weight.sum()
    at = np.arange(len(y))
    one_hot = np.eye(logits.shape[1])[y]
    c, correct = p.max(axis=1), p.argmax(axis=1) == y
    expected = {
        log_loss: -share @ log_p[at, y],
        brier_score: share @ ((p - one_hot) ** 2).sum(axis=1),
        top_label_log_loss: -share @ np.log(np.where(correct, c, 1 - c)),
    }
    for loss, wanted in expected.items():
        value, _ = evaluate(loss, logits, y, temperature, weight)
        assert_allclose(value, wanted, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4, 30])
def test_gradient_equals_finite_differences(loss, n_classes):
    logits, y, temperature, weight = make_problem(n_classes=n_classes)
    _, gradient = evaluate(loss, logits, y, temperature, weight)
    numeric = finite_difference(
        lambda t: evaluate(loss, logits, y, t, weight)[0], temperature
    )
    assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-9)


def test_soft_ece_gradient_by_confidence_equals_finite_differences():
    rng = np.random.default_rng(1)
    confidence, correct = rng.uniform(0.3, 1, 20), rng.random(20) < 0.7
    weight = rng.uniform(0.5, 2, 20)
    loss = SOFT["charbonnier-uniform"]
    _, gradient = loss.of_confidence(confidence, correct, weight)
    numeric = finite_difference(
        lambda c: loss.of_confidence(c, correct, weight)[0], confidence, 1e-6
    )
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-8)


def test_integer_weights_equal_repetition(loss):
    logits, y, temperature, _ = make_problem()
    times = np.arange(len(y)) % 3 + 1
    rows = np.repeat(np.arange(len(y)), times)
    value, gradient = evaluate(loss, logits, y, temperature, times.astype(float))
    repeated, by_copy = evaluate(
        loss, logits[rows], y[rows], temperature[rows], np.ones(len(rows))
    )
    assert_allclose(value, repeated, rtol=1e-12)
    sums = np.bincount(rows, weights=by_copy)
    assert_allclose(gradient, sums, rtol=1e-9, atol=1e-14)


def test_scale_of_weights_does_not_matter(loss):
    logits, y, temperature, weight = make_problem()
    value, gradient = evaluate(loss, logits, y, temperature, weight)
    scaled, by_scaled = evaluate(loss, logits, y, temperature, 1e6 * weight)
    assert_allclose(scaled, value, rtol=1e-12)
    assert_allclose(by_scaled, gradient, rtol=1e-9, atol=1e-14)


def test_order_of_rows_and_of_classes_does_not_matter(loss):
    logits, y, temperature, weight = make_problem()
    value, gradient = evaluate(loss, logits, y, temperature, weight)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(len(y)), rng.permutation(logits.shape[1])
    renamed = np.argsort(columns)[y]
    permuted, by_permuted = evaluate(
        loss,
        logits[np.ix_(rows, columns)],
        renamed[rows],
        temperature[rows],
        weight[rows],
    )
    assert_allclose(permuted, value, rtol=1e-12)
    assert_allclose(by_permuted, gradient[rows], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("shift", [1e4, -1e4])
def test_shift_of_rows_does_not_matter(loss, shift):
    logits, y, temperature, weight = make_problem()
    value, gradient = evaluate(loss, logits, y, temperature, weight)
    shifted, by_shifted = evaluate(loss, logits + shift, y, temperature, weight)
    assert_allclose(shifted, value, rtol=1e-8)
    assert_allclose(by_shifted, gradient, rtol=1e-6, atol=1e-9)


def test_float32_logits_give_float64_results(loss):
    logits, y, temperature, weight = make_problem()
    value, gradient = evaluate(loss, logits, y, temperature, weight)
    single, by_single = evaluate(
        loss, logits.astype(np.float32), y, temperature, weight
    )
    assert by_single.dtype == np.float64
    assert_allclose(single, value, rtol=1e-4)
    assert_allclose(by_single, gradient, rtol=1e-3, atol=1e-5)


def test_arrays_may_be_read_only(loss):
    logits, y, temperature, weight = make_problem()
    value, _ = evaluate(loss, logits, y, temperature, weight)
    frozen, _ = evaluate(loss, *read_only(logits, y, temperature, weight))
    assert frozen == value


@pytest.mark.parametrize("temperature", [1e-9, 1e-3, 1e3, 1e12])
def test_extreme_temperatures_are_finite(loss, temperature):
    logits, y, _, weight = make_problem()
    temperature = np.full(len(y), temperature)
    value, gradient = evaluate(loss, logits, y, temperature, weight)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_charbonnier_bounds_soft_ece_from_above():
    logits, y, temperature, weight = make_problem()
    plain = CharbonnierSoftECE(uniform_centres(15), 0.05, 0.0)
    lower, _ = evaluate(plain, logits, y, temperature, weight)
    for smoothing in (1e-4, 1e-2, 1.0):
        smooth = CharbonnierSoftECE(uniform_centres(15), 0.05, smoothing)
        upper, _ = evaluate(smooth, logits, y, temperature, weight)
        # sqrt(s^2 + (e M)^2) <= |s| + e M, and the masses sum to n.
        assert lower <= upper <= lower + smoothing + 1e-12


def test_one_bin_is_the_gap_of_the_means():
    logits, y, temperature, weight = make_problem()
    p = softmax(logits / temperature[:, None], axis=1)
    share = weight / weight.sum()
    gap = abs(share @ (p.max(axis=1) - (p.argmax(axis=1) == y)))
    one_bin = CharbonnierSoftECE(uniform_centres(1), 0.05, 0.0)
    assert_allclose(evaluate(one_bin, logits, y, temperature, weight)[0], gap)


def test_soft_ece_of_perfect_confidence_is_zero_with_zero_gradient():
    logits, y = np.array([[800.0, 0.0], [0.0, 800.0]]), np.array([0, 1])
    plain = CharbonnierSoftECE(uniform_centres(15), 0.05, 0.0)
    value, gradient = evaluate(plain, logits, y, np.ones(2), np.ones(2))
    assert value == 0.0
    assert_allclose(gradient, 0.0, atol=0)
