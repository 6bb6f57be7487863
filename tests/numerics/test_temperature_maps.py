"""Every property over one list of maps: value, start, vector-Jacobian product."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_smart._numerics.temperature_maps import (
    ConstantTemperature,
    MarginNetwork,
    QuantileRamps,
    margin_network,
    temperature_function,
)

from .problems import finite_difference, read_only

X = np.sort(np.random.default_rng(0).normal(size=17))
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, size=17)


def network(sizes, unit=1.0, floor=0.0):
    return MarginNetwork(X, sizes, unit=unit, floor=floor)


MAPS = {
    "constant": lambda: ConstantTemperature(len(X)),
    "linear": lambda: network(()),
    "linear-unit-floor": lambda: network((), unit=3.0, floor=0.5),
    "one-layer": lambda: network((16,)),
    "one-unit": lambda: network((1,)),
    "one-layer-unit-floor": lambda: network((5,), unit=0.01, floor=0.1),
    "two-layers": lambda: network((16, 16)),
    "three-layers": lambda: network((3, 5, 4)),
    "sorted": lambda: margin_network(X, (16,), unit=1.0, floor=0.0),
    "sorted-unit-floor": lambda: margin_network(X, (5,), unit=0.01, floor=0.1),
    "ramps": lambda: QuantileRamps(X, 6, WEIGHT, unit=2.0, floor=0.1),
    "ramps-two-hinges": lambda: QuantileRamps(X, 2, WEIGHT, unit=1.0, floor=0.0),
    "ramps-one-hinge": lambda: QuantileRamps(X, 1, WEIGHT, unit=1.0, floor=0.0),
    "ramps-tied": lambda: QuantileRamps(np.zeros(17), 6, WEIGHT, 1.0, 0.0),
}
NETWORKS = {name: make for name, make in MAPS.items() if name != "constant"}
ONE_LAYER = [name for name in MAPS if name.startswith(("sorted", "ramps"))]


@pytest.fixture(params=MAPS)
def temperature_map(request):
    return MAPS[request.param]()


def some_parameters(temperature_map, seed=3):
    """Parameters away from the kinks, where all units have something to do."""
    size = len(temperature_map.start())
    return np.random.default_rng(seed).normal(scale=0.7, size=size)


def test_start_is_one_temperature_in_the_unit(temperature_map):
    temperature = temperature_map.value(temperature_map.start())
    assert temperature.shape == X.shape
    assert_allclose(temperature, getattr(temperature_map, "unit", 1.0), rtol=1e-14)


def test_temperatures_are_positive_and_finite(temperature_map):
    for scale in (1.0, 1e3):
        parameters = scale * some_parameters(temperature_map)
        if isinstance(temperature_map, ConstantTemperature):
            parameters = np.clip(parameters, -300, 300)
        temperature = temperature_map.value(parameters)
        assert (temperature > 0).all()
        assert np.isfinite(temperature).all()


def test_vjp_equals_finite_differences(temperature_map):
    parameters = some_parameters(temperature_map)
    pull = np.random.default_rng(4).normal(size=len(X))
    temperature_map.value(parameters)
    by_parameters = temperature_map.vjp(pull)
    numeric = finite_difference(
        lambda p: float(pull @ temperature_map.value(p)), parameters, 1e-6
    )
    assert by_parameters.shape == parameters.shape
    assert_allclose(by_parameters, numeric, rtol=1e-6, atol=1e-7)


def test_vjp_is_linear(temperature_map):
    parameters = some_parameters(temperature_map)
    first, second = np.random.default_rng(5).normal(size=(2, len(X)))
    temperature_map.value(parameters)
    together = temperature_map.vjp(2 * first - second)
    apart = 2 * temperature_map.vjp(first) - temperature_map.vjp(second)
    assert_allclose(together, apart, rtol=1e-10, atol=1e-12)


def test_parameters_and_gradient_are_not_written_to(temperature_map):
    parameters, pull = read_only(some_parameters(temperature_map), np.ones(len(X)))
    temperature_map.value(parameters)
    temperature_map.vjp(pull)


def test_constant_is_the_exponential():
    constant = ConstantTemperature(3)
    assert_allclose(constant.value(np.array([np.log(2.5)])), [2.5, 2.5, 2.5])
    assert_allclose(constant.vjp(np.array([1.0, 2.0, 3.0])), [6 * 2.5])
    assert not constant.penalised.any()


def test_network_equals_its_formula():
    parameters = np.array([1.5, -0.5, 0.2, 0.1, 2.0, -1.0, 0.3])
    small = network((2,), unit=4.0, floor=0.1)
    bias = np.array([0.2, 0.1])
    hidden = np.maximum(np.outer(X, [1.5, -0.5]) + bias, 0)
    expected = 4.0 * (np.log1p(np.exp(hidden @ [2.0, -1.0] + 0.3)) + 0.1)
    assert_allclose(small.value(parameters), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("sizes", "count"), [((), 2), ((16,), 49), ((16, 16), 321), ((3, 5, 4), 55)]
)
def test_number_of_parameters(sizes, count):
    assert len(network(sizes).start()) == count
    assert network(sizes).penalised.shape == (count,)


@pytest.mark.parametrize("name", NETWORKS)
def test_without_penalised_parameters_the_temperature_is_constant(name):
    margin_network = NETWORKS[name]()
    parameters = some_parameters(margin_network)
    parameters[margin_network.penalised] = 0.0
    assert_allclose(np.ptp(margin_network.value(parameters)), 0.0, atol=1e-15)


@pytest.mark.parametrize("sizes", [(16,), (4, 4), (2, 3, 2)])
def test_hinges_of_the_start_are_at_the_data(sizes):
    margin_network = network(sizes)
    weight, bias = margin_network.layers(margin_network.start())[0]
    hinges = -bias / weight[0]
    assert np.isin(hinges, X).all()
    assert (np.diff(hinges) >= 0).all()


def test_start_is_not_stuck():
    # A constant output must still have a slope in the output weights.
    for sizes in ((16,), (16, 16), (3, 5, 4)):
        margin_network = network(sizes)
        margin_network.value(margin_network.start())
        gradient = margin_network.vjp(X)
        weights = margin_network.layers(gradient)[-1][0]
        assert (np.abs(weights) > 0).sum() > 1


def test_start_follows_weights_as_repetition():
    times = np.arange(len(X)) % 3 + 1
    weighted = network((5,)).start(times.astype(float))
    repeated = MarginNetwork(np.repeat(X, times), (5,)).start()
    assert_array_equal(weighted, repeated)


def test_random_start_is_torch_linear_initialisation():
    margin_network = network((16, 4))
    draws = np.array(
        [
            margin_network.random_start(np.random.RandomState(seed))
            for seed in range(200)
        ]
    )
    bounds = np.concatenate(
        [np.full((m + 1) * k, 1 / np.sqrt(m)) for m, k in margin_network.shapes]
    )
    assert (np.abs(draws) <= bounds).all()
    assert_allclose(np.abs(draws).max(axis=0), bounds, rtol=0.1)
    assert_allclose(draws.std(axis=0), bounds / np.sqrt(3), rtol=0.25)
    again = margin_network.random_start(np.random.RandomState(7))
    assert_array_equal(again, draws[7])


def test_floor_bounds_temperatures_from_below():
    margin_network = network((8,), unit=2.0, floor=0.25)
    parameters = some_parameters(margin_network)
    margin_network.layers(parameters)[-1][1][:] = -1e4
    assert_allclose(margin_network.value(parameters), 0.5, rtol=1e-7)


@pytest.mark.parametrize("name", ONE_LAYER)
def test_one_hidden_layer_is_the_network_of_its_layers(name):
    fast = MAPS[name]()
    parameters = some_parameters(fast)
    layers = fast.layers(parameters)
    flat = np.concatenate([part.ravel() for layer in layers for part in layer])
    sizes = [weight.shape[1] for weight, _ in layers[:-1]]
    plain = MarginNetwork(fast.x, sizes, unit=fast.unit, floor=fast.floor)
    assert_allclose(fast.value(parameters), plain.value(flat), rtol=1e-12)


def test_ramps_are_constant_beyond_the_outer_quantiles():
    ramps = QuantileRamps(X, 6, WEIGHT, unit=1.0, floor=0.0)
    layers = ramps.layers(some_parameters(ramps))
    flat = np.concatenate([part.ravel() for layer in layers for part in layer])
    wide = MarginNetwork(np.array([X[0], X[0] - 9, X[-1], X[-1] + 9]), (6,))
    values = wide.value(flat)
    assert_allclose(values[::2], values[1::2], rtol=1e-12)


def test_ramps_take_weights_as_repetition():
    times = np.arange(len(X)) % 3 + 1
    weighted = QuantileRamps(X, 6, times.astype(float), unit=1.0, floor=0.0)
    once = np.ones(times.sum())
    repeated = QuantileRamps(np.repeat(X, times), 6, once, unit=1.0, floor=0.0)
    assert_array_equal(weighted.knots, repeated.knots)
    assert_allclose(weighted.root_mass, repeated.root_mass, rtol=1e-14)
    assert_allclose((weighted.root_mass**2).sum(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("n_hinges", [2, 3, 6, 16])
def test_gram_is_the_weighted_square_of_the_jacobian(n_hinges):
    ramps = QuantileRamps(X, n_hinges, WEIGHT, unit=2.0, floor=0.1)
    parameters = some_parameters(ramps)
    ramps.value(parameters)
    jacobian = np.array([ramps.vjp(row) for row in np.eye(len(X))])
    expected = (jacobian * WEIGHT[:, None]).T @ jacobian
    assert_allclose(ramps.gram(WEIGHT), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_function_of_a_fitted_network_equals_its_value(name):
    network = NETWORKS[name]()
    parameters = some_parameters(network)
    layers = network.layers(parameters)
    found = temperature_function(layers, network.unit, network.floor)(network.x)
    assert_allclose(found, network.value(parameters), rtol=1e-12)


def test_the_function_of_units_without_a_kink():
    layers = [
        (np.array([[0.0, 1e-320, -2.0]]), np.array([0.5, 1.0, 0.3])),
        (np.array([[1.0], [2.0], [0.25]]), np.array([-0.1])),
    ]
    x = np.array([-1e3, -1.0, 0.0, 0.15, 4.0])
    raw = 2.4 + 0.25 * np.maximum(0.3 - 2.0 * x, 0.0)
    found = temperature_function(layers, 3.0, 0.1)(x)
    assert_allclose(found, 3.0 * (np.logaddexp(0.0, raw) + 0.1), rtol=1e-13)
