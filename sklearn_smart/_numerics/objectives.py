"""A loss composed with a model of the scores: value and gradient in its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .calibration_losses import CalibrationLoss
from .temperature_maps import ConstantTemperature, MarginNetwork
from .tempered import TemperedLogits


@dataclass
class TemperatureObjective:
    """``sum_k coefficient_k loss_k(softmax(z / T)) + alpha / sum(w) * |weights|^2``.

    ``T`` is the map's; the penalty is on the map's weights, not on its biases, and
    fades as the calibration set grows.
    """

    rows: TemperedLogits
    temperature_map: ConstantTemperature | MarginNetwork
    losses: Sequence[tuple[float, CalibrationLoss]]
    weight: NDArray
    alpha: float = 0.0

    def __call__(self, parameters: NDArray) -> tuple[float, NDArray]:
        temperature = self.temperature_map.value(parameters)
        beta = 1.0 / temperature
        tempered = self.rows.at(beta)
        value, by_beta = 0.0, np.zeros(len(beta))
        for coefficient, loss in self.losses:
            part, gradient = loss(tempered, self.weight)
            value += coefficient * part
            by_beta += coefficient * gradient
        gradient = self.temperature_map.vjp(-by_beta * beta**2)
        if self.alpha:
            shrunk = np.where(self.temperature_map.penalised, parameters, 0.0)
            strength = self.alpha / self.weight.sum()
            value += strength * float(shrunk @ shrunk)
            gradient += 2 * strength * shrunk
        return value, gradient
