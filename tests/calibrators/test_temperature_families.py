"""Ensemble, class-based and parametrised temperature scaling."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from sklearn_smart import (
    ClassTemperatureScaling,
    EnsembleTemperatureScaling,
    GroupCalibration,
    ParametrizedTemperatureScaling,
    TemperatureScaling,
)
from sklearn_smart._numerics.group_mixture import GroupMixture
from sklearn_smart._numerics.temperature_maps import FeatureNetwork
from sklearn_smart._numerics.tempered import TemperedLogits
from sklearn_smart.metrics import log_loss

from .contract import make_scores

SCORES, Y = make_scores(n=400, n_classes=4)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_class_temperatures_without_penalty_are_fits_of_each_class():
    model = ClassTemperatureScaling(alpha=0.0).fit(SCORES, Y)
    top = SCORES.argmax(axis=1)
    for k in range(4):
        alone = TemperatureScaling(classes=4).fit(SCORES[top == k], Y[top == k])
        assert_allclose(model.temperatures_[k], alone.temperature_, rtol=1e-6)
    assert_allclose(model.temperatures(SCORES), model.temperatures_[top])


def test_class_temperatures_with_a_strong_penalty_are_one():
    model = ClassTemperatureScaling(alpha=1e9).fit(SCORES, Y)
    single = TemperatureScaling().fit(SCORES, Y).temperature_
    assert_allclose(model.temperatures_, single, rtol=1e-6)
    assert_allclose(model.temperature_, single, rtol=1e-9)


def test_class_temperatures_by_evidence():
    """Near one another where they are one, apart where they are not."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=(6000, 3))
    y = (softmax(z).cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    same = ClassTemperatureScaling().fit(z, y)
    assert_allclose(same.temperatures_, 1, atol=0.06)
    apart = ClassTemperatureScaling().fit(
        z * np.array([3.0, 1.0, 1.0])[z.argmax(axis=1), None], y
    )
    assert_allclose(apart.temperatures_, [3, 1, 1], rtol=0.1)
    assert apart.alpha_ < same.alpha_


def test_ensemble_weights_are_the_minimum():
    model = EnsembleTemperatureScaling().fit(SCORES, Y)
    temperature = TemperatureScaling().fit(SCORES, Y).temperature_
    assert_allclose(model.temperature_, temperature)
    parts = [softmax(SCORES / temperature), softmax(SCORES), np.full((400, 4), 0.25)]
    expected = sum(w * p for w, p in zip(model.weights_, parts, strict=True))
    assert_allclose(model.predict_proba(SCORES), expected, rtol=1e-12)
    assert_allclose(model.weights_.sum(), 1)
    assert_allclose(model.loss_, log_loss(Y, expected), rtol=1e-12)
    # Karush, Kuhn and Tucker: the slopes of the parts in use are all 1.
    of_label = np.stack([p[np.arange(400), Y] for p in parts], axis=1)
    slope = (of_label / (of_label @ model.weights_)[:, None]).mean(axis=0)
    assert_allclose(slope[model.weights_ > 0], 1, atol=1e-5)
    assert (slope <= 1 + 1e-5).all()


def test_ensemble_finds_its_parts():
    rng = np.random.default_rng(0)
    z = 6 * rng.normal(size=(20_000, 3))
    p = 0.8 * softmax(z) + 0.2 / 3
    y = (p.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    model = EnsembleTemperatureScaling().fit(z, y)
    found = model.predict_proba(z)
    assert log_loss(y, found) < log_loss(y, p) + 0.002
    assert 0.1 < model.weights_[2] < 0.3


def test_network_of_features_has_the_right_gradient():
    rng = np.random.default_rng(0)
    network = FeatureNetwork(rng.normal(size=(30, 3)), (4, 2), 1.5)
    assert network.shapes == [(3, 4), (4, 2), (2, 1)]
    start = network.single_start(np.random.RandomState(0))
    assert_allclose(network.value(start), 1.5)
    at = start + 0.1 * rng.normal(size=len(start))
    by_temperature = rng.normal(size=30)
    network.value(at)
    found = network.vjp(by_temperature)
    numeric = approx_fprime(at, lambda p: by_temperature @ network.value(p), 1e-7)
    assert_allclose(found, numeric, atol=1e-5)


@pytest.mark.parametrize("objective", ["brier_score", "log_loss"])
def test_parametrised_temperatures(objective):
    """A temperature that depends on the third logit, which a margin does not see."""
    rng = np.random.default_rng(0)
    z = 4 * rng.normal(size=(8000, 4))
    third = np.sort(z, axis=1)[:, -3:-2]
    top = z.max(axis=1, keepdims=True)
    p = softmax(z / np.where(top - third > 5, 4.0, 1.0))
    y = (p.cumsum(axis=1) < rng.random((8000, 1))).sum(axis=1)
    model = ParametrizedTemperatureScaling(objective=objective, alpha=0.1).fit(z, y)
    single = log_loss(y, TemperatureScaling().fit(z, y).predict_proba(z))
    best = log_loss(y, p)
    assert log_loss(y, model.predict_proba(z)) - best < 0.2 * (single - best)
    heavy = ParametrizedTemperatureScaling(alpha=1e9, objective="log_loss").fit(z, y)
    assert_allclose(heavy.temperatures(z), heavy.temperature_, rtol=1e-3)


def test_parametrised_sees_no_more_than_there_is():
    for n_logits, inputs in ((2, 1), (3, 2), (50, 3)):
        model = ParametrizedTemperatureScaling(n_logits=n_logits).fit(SCORES, Y)
        assert model.coefs_[0].shape == (inputs, 5)
    seeds = [
        ParametrizedTemperatureScaling(random_state=s).fit(SCORES, Y).coefs_[0]
        for s in (0, 0, 1)
    ]
    assert (seeds[0] == seeds[1]).all()
    assert (seeds[0] != seeds[2]).any()


def test_groups_have_the_right_gradient():
    rng = np.random.default_rng(0)
    curves = TemperedLogits(SCORES, Y).tabulate(0.4)
    x, weight = rng.normal(size=(400, 3)), rng.uniform(0.5, 2, 400)
    objective = GroupMixture(curves, x, weight, 3, 0.4, 2.0)
    at = 0.5 * objective.start(np.random.RandomState(0))
    value, gradient = objective(at)
    numeric = approx_fprime(at, lambda p: objective(p)[0], 1e-7)
    assert_allclose(gradient, numeric, atol=1e-6)
    # By the definition.
    weights, bias, beta = objective.split(at)
    members = softmax(x @ weights + bias)
    p = sum(members[:, g, None] * softmax(SCORES * beta[g]) for g in range(3))
    expected = -np.average(np.log(p[np.arange(400), Y]), weights=weight)
    expected += 2.0 * (weights**2).sum() / weight.sum()
    assert_allclose(value, expected, rtol=1e-4)


def test_one_group_is_temperature_scaling():
    model = GroupCalibration(n_groups=1, n_partitions=2).fit(SCORES, Y)
    single = TemperatureScaling().fit(SCORES, Y)
    assert_allclose(model.temperatures_, single.temperature_, rtol=1e-4)
    assert_allclose(
        model.predict_proba(SCORES), single.predict_proba(SCORES), atol=1e-4
    )


def test_groups_find_a_partition():
    """Rows whose third logit is near have another temperature."""
    rng = np.random.default_rng(0)
    z = 4 * rng.normal(size=(8000, 4))
    near = np.sort(z, axis=1)[:, -1] - np.sort(z, axis=1)[:, -3] < 5
    p = softmax(z / np.where(near[:, None], 1.0, 4.0))
    y = (p.cumsum(axis=1) < rng.random((8000, 1))).sum(axis=1)
    model = GroupCalibration(n_partitions=3).fit(z, y)
    single = log_loss(y, TemperatureScaling().fit(z, y).predict_proba(z))
    least = log_loss(y, p)
    assert log_loss(y, model.predict_proba(z)) - least < 0.3 * (single - least)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"objective": "ece"}, "objective"),
        ({"n_logits": 1}, "n_logits"),
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes"),
        ({"alpha": -1}, "alpha"),
        ({"random_state": "a"}, "seed"),
    ],
)
def test_errors(settings, name):
    with pytest.raises(ValueError, match=name):
        ParametrizedTemperatureScaling(**settings).fit(SCORES, Y)
