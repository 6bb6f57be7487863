"""Maps from a signal of each row to its temperature.

Conventions
-----------
A map has a flat parameter vector. ``start()`` gives its first value,
``value(parameters)`` the positive temperatures (n,) of the rows it was made for,
``vjp(gradient)`` turns a gradient with respect to those temperatures (of the last
``value``) into one with respect to the parameters, and ``penalised`` marks the
parameters whose size measures the distance from a constant temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .bins import quantile_centres

# Below this, in units, a temperature is as good as 0 and its inverse would overflow.
_SMALLEST = 1e-9


class ConstantTemperature:
    """One temperature ``exp(parameter)`` for all rows."""

    penalised = np.zeros(1, dtype=bool)

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def start(self) -> NDArray:
        return np.zeros(1)

    def value(self, parameters: NDArray) -> NDArray:
        self._temperature = np.exp(parameters[0])
        return np.full(self.n_rows, self._temperature)

    def vjp(self, gradient: NDArray) -> NDArray:
        return np.array([gradient.sum() * self._temperature])


class MarginNetwork:
    """``T = unit * (softplus(h(x)) + floor)``, h a ReLU network of one input.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The standardised signal, usually the margin.
    hidden_layer_sizes : sequence of int
        Widths of the hidden layers; empty for a linear h.
    unit : float
        The temperature that is one unit of the output.
    floor : float
        Smallest temperature, in units.
    """

    def __init__(
        self,
        x: NDArray,
        hidden_layer_sizes: Sequence[int],
        unit: float = 1.0,
        floor: float = 0.0,
    ) -> None:
        self.x = np.asarray(x, dtype=np.float64)
        self.unit = unit
        self.floor = floor
        widths = (1, *hidden_layer_sizes, 1)
        self.shapes = list(zip(widths[:-1], widths[1:], strict=True))
        self.penalised = np.concatenate(
            [np.repeat([True, False], [m * k, k]) for m, k in self.shapes]
        )

    def layers(self, parameters: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Weight (inputs, outputs) and bias (outputs,) of each layer, as views."""
        out, at = [], 0
        for m, k in self.shapes:
            weight = parameters[at : at + m * k].reshape(m, k)
            out.append((weight, parameters[at + m * k : at + (m + 1) * k]))
            at += (m + 1) * k
        return out

    def start(self, weight: NDArray | None = None, level: float = 1.0) -> NDArray:
        """Hinges at quantiles of the signal, a constant output of ``level`` units.

        The output weights are 0, so that a fit begins at a single temperature and no
        random number is needed. Hinges of further layers pass the first layer's on.
        """
        parameters = np.zeros(len(self.penalised))
        layers = self.layers(parameters)
        if len(layers) > 1:
            first, bias = layers[0]
            first[:] = 1.0
            bias[:] = -quantile_centres(self.x, len(bias), weight)
            for hidden, _ in layers[1:-1]:
                unit = np.arange(len(hidden))
                hidden[unit, unit % hidden.shape[1]] = 1.0
        layers[-1][1][:] = _bias_of(level, self.floor)
        return parameters

    def random_start(self, random_state: np.random.RandomState) -> NDArray:
        """Uniform on ``+- 1 / sqrt(inputs)``, weights and biases, layer by layer."""
        draws = [
            random_state.uniform(-1, 1, size=(m + 1) * k) / np.sqrt(m)
            for m, k in self.shapes
        ]
        return np.concatenate(draws)

    def value(self, parameters: NDArray) -> NDArray:
        return self._positive(self._forward(self.layers(parameters)))

    def _positive(self, output: NDArray) -> NDArray:
        # Softplus and its derivative share one exponential that cannot overflow.
        small = np.exp(-np.abs(output))
        positive = np.maximum(output, 0.0) + np.log1p(small)
        self._rate = np.where(output >= 0, 1.0, small) / (1.0 + small)
        return self.unit * (np.maximum(positive, _SMALLEST) + self.floor)

    def vjp(self, gradient: NDArray) -> NDArray:
        return self._backward(self.unit * gradient * self._rate)

    def _forward(self, layers: list[tuple[NDArray, NDArray]]) -> NDArray:
        self._layers = layers
        self._inputs = [self.x.reshape(len(self.x), -1)]
        for weight, bias in layers[:-1]:
            hidden = self._inputs[-1] @ weight
            hidden += bias
            self._inputs.append(np.maximum(hidden, 0.0, out=hidden))
        weight, bias = layers[-1]
        return (self._inputs[-1] @ weight)[:, 0] + bias[0]

    def _backward(self, delta: NDArray) -> NDArray:
        delta = delta[:, None]
        parts: list[NDArray] = []
        for (weight, _), inputs in zip(
            reversed(self._layers), reversed(self._inputs), strict=True
        ):
            parts[:0] = [(inputs.T @ delta).ravel(), delta.sum(axis=0)]
            delta = (delta @ weight.T) * (inputs > 0)
        return np.concatenate(parts)


class FeatureNetwork(MarginNetwork):
    """A `MarginNetwork` of several inputs, ``x`` of shape (n, d)."""

    def __init__(
        self, x: NDArray, hidden_layer_sizes: Sequence[int], unit: float = 1.0
    ) -> None:
        super().__init__(x, hidden_layer_sizes, unit)
        widths = (self.x.shape[1], *hidden_layer_sizes, 1)
        self.shapes = list(zip(widths[:-1], widths[1:], strict=True))
        self.penalised = np.concatenate(
            [np.repeat([True, False], [m * k, k]) for m, k in self.shapes]
        )

    def single_start(self, random_state: np.random.RandomState) -> NDArray:
        """Random hidden layers, and an output of one unit whatever they say."""
        parameters = self.random_start(random_state)
        weight, bias = self.layers(parameters)[-1]
        weight[:] = 0.0
        bias[:] = _bias_of(1.0, self.floor)
        return parameters


class SortedMarginNetwork(MarginNetwork):
    """A `MarginNetwork` of one hidden layer on a sorted signal, in O(n + hidden).

    As a function of x the network is piecewise linear. Each hidden unit is active on
    one side of its kink, so the rows between two neighbouring kinks share one line,
    and the gradient needs the sums over these runs of rows only.
    """

    def _forward(self, layers: list[tuple[NDArray, NDArray]]) -> NDArray:
        (weight, bias), (out_weight, out_bias) = layers
        w, b, v = weight[0], bias, out_weight[:, 0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            kink = np.where(w != 0, -b / w, np.where(b > 0, -np.inf, np.inf))
        rising = w >= 0
        # Ties with the kink itself are inactive, on either side.
        first = np.where(
            rising,
            np.searchsorted(self.x, kink, side="right"),
            np.searchsorted(self.x, kink, side="left"),
        )
        order = np.argsort(first, kind="stable")
        sign = np.where(rising, 1.0, -1.0)
        jump = np.stack([sign * v * w, sign * v * b])[:, order]
        left = np.where(rising, 0.0, v)
        base = np.array([left @ w, left @ b + out_bias[0]])
        lines = np.cumsum(np.concatenate([base[:, None], jump], axis=1), axis=1)
        bounds = np.concatenate([[0], first[order], [len(self.x)]])
        self._hinges = (w, b, v, rising, order, bounds)
        slope, intercept = np.repeat(lines, np.diff(bounds), axis=1)
        return slope * self.x + intercept

    def _backward(self, delta: NDArray) -> NDArray:
        w, b, v, rising, order, bounds = self._hinges
        runs = np.stack([_run_sums(delta, bounds), _run_sums(delta * self.x, bounds)])
        upto = np.cumsum(runs, axis=1)
        total = upto[:, -1:]
        left = np.empty((2, len(w)))
        left[:, order] = upto[:, :-1]
        by_one, by_x = np.where(rising, total - left, left)
        return np.concatenate([v * by_x, v * by_one, w * by_x + b * by_one, total[0]])


class QuantileRamps(MarginNetwork):
    """A `MarginNetwork` of one hidden layer whose kinks stay at quantiles.

    ``h(x) = h_0 + sum_j e_j sqrt(mass_j) ramp_j(x)``, where ramp j rises from 0 to 1
    between two neighbouring quantiles of the signal with a share ``mass_j`` of the
    weight between them; beyond the outer ones h is constant. A quadratic penalty on
    the ``e_j`` is that of a random walk in the quantiles. The parameters are
    ``h_0, e_1, ..``; with a smooth loss the objective is smooth in them, so that its
    minimum does not hang on rounding errors.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The standardised signal, increasing.
    n_hinges : int
        Number of hidden units; fewer are used where quantiles coincide.
    weight : ndarray of shape (n,)
    unit, floor : float
        As in `MarginNetwork`.
    """

    def __init__(
        self, x: NDArray, n_hinges: int, weight: NDArray, unit: float, floor: float
    ) -> None:
        self.x = x
        self.unit = unit
        self.floor = floor
        upto = np.cumsum(weight, dtype=np.float64)
        share = np.arange(n_hinges) / max(n_hinges - 1, 1)
        at = np.searchsorted(upto, share * upto[-1] * (1 - 1e-14), side="left")
        self.knots = np.unique(x[np.minimum(at, len(x) - 1)])
        self.bounds = np.searchsorted(x, self.knots, side="right")
        self.bounds[0] = 0
        below = np.concatenate([[0.0], upto])[self.bounds]
        self.root_mass = np.sqrt(np.diff(below) / upto[-1])
        self.penalised = np.arange(len(self.knots)) > 0
        self.counts = np.diff(self.bounds)
        if len(self.knots) > 1:
            left = np.repeat(self.knots[:-1], self.counts)
            self.fraction = (x - left) / np.repeat(np.diff(self.knots), self.counts)

    def start(self, weight: NDArray | None = None, level: float = 1.0) -> NDArray:
        parameters = np.zeros(len(self.penalised))
        parameters[0] = _bias_of(level, self.floor)
        return parameters

    def layers(self, parameters: NDArray) -> list[tuple[NDArray, NDArray]]:
        slope = parameters[1:] * self.root_mass / np.diff(self.knots)
        change = np.diff(slope, prepend=0.0, append=0.0)
        return [
            (np.ones((1, len(self.knots))), -self.knots),
            (change[:, None], parameters[:1]),
        ]

    def value(self, parameters: NDArray) -> NDArray:
        return self._positive(self._ramped(parameters))

    def gram(self, weight: NDArray) -> NDArray:
        """``sum_i weight_i J_i J_i^T``, J the derivative of the last ``value``.

        Rows between two knots share all columns but one, so sums over these runs of
        rows suffice.
        """
        rate = weight * (self.unit * self._rate) ** 2
        n = len(self.root_mass)
        if not n:
            return np.array([[rate.sum()]])
        whole = _run_sums(rate, self.bounds)
        linear = _run_sums(rate * self.fraction, self.bounds)
        square = _run_sums(rate * self.fraction**2, self.bounds)
        # Ramp j is 1 beyond its run: for j < k the product is ramp k there.
        beyond = whole.sum() - np.cumsum(whole)
        first = linear + beyond
        later = np.maximum(np.arange(n)[:, None], np.arange(n))
        ramps = first[later] * self.root_mass * self.root_mass[:, None]
        ramps[np.diag_indices(n)] = (square + beyond) * self.root_mass**2
        out = np.empty((n + 1, n + 1))
        out[0, 0] = rate.sum()
        out[0, 1:] = out[1:, 0] = first * self.root_mass
        out[1:, 1:] = ramps
        return out

    def _ramped(self, parameters: NDArray) -> NDArray:
        rise = parameters[1:] * self.root_mass
        if not len(rise):
            return np.full(len(self.x), parameters[0])
        start = parameters[0] + np.concatenate([[0.0], np.cumsum(rise)[:-1]])
        steps = np.repeat(np.stack([start, rise]), self.counts, axis=1)
        return steps[0] + self.fraction * steps[1]

    def _backward(self, delta: NDArray) -> NDArray:
        if not len(self.root_mass):
            return np.array([delta.sum()])
        whole = _run_sums(delta, self.bounds)
        part = _run_sums(delta * self.fraction, self.bounds)
        beyond = whole.sum() - np.cumsum(whole)
        return np.concatenate([[delta.sum()], (part + beyond) * self.root_mass])


def temperature_function(
    layers: Sequence[tuple[NDArray, NDArray]], unit: float, floor: float
) -> Callable[[NDArray], NDArray]:
    """The temperatures of a fitted `MarginNetwork` as a function of the signal.

    The signal is float64 (n,), and standardised. What depends on the network alone is
    computed here, once for all blocks of rows.
    """
    output = (
        _piecewise_linear(layers)
        if len(layers) == 2
        else lambda x: _outputs(layers, x[:, None])
    )

    def temperature(x: NDArray) -> NDArray:
        raw = output(x)
        positive = np.log1p(np.exp(-np.abs(raw)))
        positive += np.maximum(raw, 0.0)
        np.maximum(positive, _SMALLEST, out=positive)
        positive += floor
        positive *= unit
        return positive

    return temperature


def _outputs(layers: Sequence[tuple[NDArray, NDArray]], x: NDArray) -> NDArray:
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight + bias, 0.0)
    weight, bias = layers[-1]
    return (x @ weight)[:, 0] + bias[0]


def _piecewise_linear(
    layers: Sequence[tuple[NDArray, NDArray]],
) -> Callable[[NDArray], NDArray]:
    """One hidden layer of one input: linear between the kinks of its units."""
    w, v = layers[0][0][0], layers[1][0][:, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kinks = np.unique((-layers[0][1] / w)[w != 0])
    # A unit that is flat to the limits of the arithmetic has no kink.
    kinks = kinks[np.isfinite(kinks)]
    if not len(kinks):
        kinks = np.zeros(1)
    heights = _outputs(layers, kinks[:, None])
    first, last = float(v[w < 0] @ w[w < 0]), float(v[w > 0] @ w[w > 0])

    def output(x: NDArray) -> NDArray:
        value = np.interp(x, kinks, heights)
        if first != 0.0:
            value += first * np.minimum(x - kinks[0], 0.0)
        if last != 0.0:
            value += last * np.maximum(x - kinks[-1], 0.0)
        return value

    return output


def _bias_of(level: float, floor: float) -> float:
    """Output whose softplus is ``level - floor``, or little where that is negative."""
    above = max(level - floor, 1e-3 * floor)
    # log(exp(a) - 1) without overflow for large a.
    return float(above + np.log(-np.expm1(-above)))


def _run_sums(values: NDArray, bounds: NDArray) -> NDArray:
    """Sums of the runs ``bounds[k]:bounds[k + 1]``, also of the empty ones."""
    # One more value, so that an empty last run may begin behind the last row.
    sums = np.add.reduceat(np.append(values, 0.0), bounds[:-1])
    return np.where(np.diff(bounds) > 0, sums, 0.0)


def margin_network(
    x: NDArray, hidden_layer_sizes: Sequence[int], unit: float, floor: float
) -> MarginNetwork:
    """The network of the given widths for a signal sorted in increasing order."""
    kind = SortedMarginNetwork if len(hidden_layer_sizes) == 1 else MarginNetwork
    return kind(x, hidden_layer_sizes, unit, floor)
