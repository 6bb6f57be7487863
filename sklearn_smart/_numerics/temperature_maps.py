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

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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
        self.x = np.asarray(x, dtype=np.float64)[:, None]
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

    def start(self, weight: NDArray | None = None) -> NDArray:
        """Hinges at quantiles of the signal, a constant output of one unit.

        The output weights are 0, so that a fit begins at the single temperature that
        ``unit`` stands for and no random number is needed. Hinges of further layers
        pass the first layer's on.
        """
        parameters = np.zeros(len(self.penalised))
        layers = self.layers(parameters)
        if len(layers) > 1:
            first, bias = layers[0]
            first[:] = 1.0
            bias[:] = -quantile_centres(self.x[:, 0], len(bias), weight)
            for hidden, _ in layers[1:-1]:
                unit = np.arange(len(hidden))
                hidden[unit, unit % hidden.shape[1]] = 1.0
        layers[-1][1][:] = np.log(np.expm1(1.0 - self.floor))
        return parameters

    def random_start(self, random_state: np.random.RandomState) -> NDArray:
        """Uniform on ``+- 1 / sqrt(inputs)``, weights and biases, layer by layer."""
        draws = [
            random_state.uniform(-1, 1, size=(m + 1) * k) / np.sqrt(m)
            for m, k in self.shapes
        ]
        return np.concatenate(draws)

    def value(self, parameters: NDArray) -> NDArray:
        self._layers = self.layers(parameters)
        self._inputs = [self.x]
        for weight, bias in self._layers[:-1]:
            hidden = self._inputs[-1] @ weight
            hidden += bias
            self._inputs.append(np.maximum(hidden, 0.0, out=hidden))
        weight, bias = self._layers[-1]
        self._output = (self._inputs[-1] @ weight)[:, 0] + bias[0]
        positive = np.maximum(np.logaddexp(0.0, self._output), _SMALLEST)
        return self.unit * (positive + self.floor)

    def vjp(self, gradient: NDArray) -> NDArray:
        delta = (self.unit * gradient * expit(self._output))[:, None]
        parts: list[NDArray] = []
        for (weight, _), inputs in zip(
            reversed(self._layers), reversed(self._inputs), strict=True
        ):
            parts[:0] = [(inputs.T @ delta).ravel(), delta.sum(axis=0)]
            if inputs is not self.x:
                delta = (delta @ weight.T) * (inputs > 0)
        return np.concatenate(parts)
