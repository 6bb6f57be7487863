"""A loss composed with a map: value and gradient in the map's parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_smart._numerics.bins import uniform_centres
from sklearn_smart._numerics.calibration_losses import (
    CharbonnierSoftECE,
    brier_score,
    log_loss,
    top_label_log_loss,
)
from sklearn_smart._numerics.logits import margin
from sklearn_smart._numerics.objectives import TemperatureObjective
from sklearn_smart._numerics.temperature_maps import ConstantTemperature, MarginNetwork
from sklearn_smart._numerics.tempered import TemperedLogits

from .problems import finite_difference, make_problem

LOGITS, Y, _, WEIGHT = make_problem()
CHARBONNIER = CharbonnierSoftECE(uniform_centres(15), 0.05, 1e-3)
LOSSES = {
    "charbonnier": [(1.0, CHARBONNIER)],
    "charbonnier-and-log-loss": [(1.0, CHARBONNIER), (0.3, log_loss)],
    "log_loss": [(1.0, log_loss)],
    "brier_score": [(1.0, brier_score)],
    "top_label_log_loss": [(2.0, top_label_log_loss)],
}
MAPS = {
    "constant": ConstantTemperature(len(Y)),
    "linear": MarginNetwork(margin(LOGITS) - 2.0, ()),
    "one-layer": MarginNetwork(margin(LOGITS) - 2.0, (4,), unit=1.3, floor=0.1),
    "two-layers": MarginNetwork(margin(LOGITS) - 2.0, (3, 3)),
}


def objective(losses, temperature_map, alpha, rows=None, weight=WEIGHT):
    rows = TemperedLogits(LOGITS, Y) if rows is None else rows
    strength = alpha * temperature_map.penalised
    return TemperatureObjective(rows, temperature_map, losses, weight, strength)


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_gradient_equals_finite_differences(losses, name, alpha):
    fun = objective(LOSSES[losses], MAPS[name], alpha)
    size = len(MAPS[name].start())
    parameters = np.random.default_rng(1).normal(scale=0.5, size=size)
    _, gradient = fun(parameters)
    numeric = finite_difference(lambda p: fun(p)[0], parameters, 1e-6)
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-8)


def test_penalty_is_alpha_over_the_weight_times_the_squared_weights():
    network = MAPS["one-layer"]
    parameters = np.random.default_rng(1).normal(size=len(network.start()))
    plain, _ = objective(LOSSES["log_loss"], network, 0.0)(parameters)
    shrunk, _ = objective(LOSSES["log_loss"], network, 0.7)(parameters)
    squares = sum((weight**2).sum() for weight, _ in network.layers(parameters))
    assert_allclose(shrunk - plain, 0.7 * squares / WEIGHT.sum(), rtol=1e-9)


def test_parts_are_added_with_their_coefficients():
    network = MAPS["two-layers"]
    parameters = np.random.default_rng(1).normal(size=len(network.start()))
    both, _ = objective(LOSSES["charbonnier-and-log-loss"], network, 0.0)(parameters)
    first, _ = objective(LOSSES["charbonnier"], network, 0.0)(parameters)
    second, _ = objective(LOSSES["log_loss"], network, 0.0)(parameters)
    assert_allclose(both, first + 0.3 * second, rtol=1e-12)


def test_weights_equal_repetition_with_a_penalty():
    times = np.arange(len(Y)) % 3 + 1
    rows = np.repeat(np.arange(len(Y)), times)
    x = margin(LOGITS) - 2.0
    parameters = np.random.default_rng(1).normal(size=13)
    losses = LOSSES["charbonnier-and-log-loss"]
    weighted, by_weighted = objective(
        losses, MarginNetwork(x, (4,)), 0.7, weight=times.astype(float)
    )(parameters)
    repeated, by_repeated = objective(
        losses,
        MarginNetwork(x[rows], (4,)),
        0.7,
        rows=TemperedLogits(LOGITS[rows], Y[rows]),
        weight=np.ones(len(rows)),
    )(parameters)
    assert_allclose(weighted, repeated, rtol=1e-12)
    assert_allclose(by_weighted, by_repeated, rtol=1e-8, atol=1e-13)
