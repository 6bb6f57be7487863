"""A loss composed with a model of the scores: value and gradient in its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .calibration_losses import CalibrationLoss
from .temperature_maps import ConstantTemperature, MarginNetwork
from .tempered import Tempered


class TemperedRows(Protocol):
    def at(self, beta: NDArray) -> Tempered: ...


@dataclass
class TemperatureObjective:
    """``sum_k coefficient_k loss_k(softmax(z / T)) + penalty``, as the map sets ``T``.

    The penalty is ``sum_j strength_j (parameter_j - centre_j)^2 / sum(w)``: it fades as
    the calibration set grows.
    """

    rows: TemperedRows
    temperature_map: ConstantTemperature | MarginNetwork
    losses: Sequence[tuple[float, CalibrationLoss]]
    weight: NDArray
    strength: NDArray | float = 0.0
    centre: NDArray | float = 0.0

    def __call__(self, parameters: NDArray) -> tuple[float, NDArray]:
        temperature = self.temperature_map.value(parameters)
        beta = 1.0 / temperature
        tempered = self.rows.at(beta)
        value, by_beta = 0.0, np.zeros(len(beta))
        for coefficient, loss in self.losses:
            part, gradient = loss(tempered, self.weight)
            value += coefficient * part
            by_beta += coefficient * gradient
        by_beta *= beta
        by_beta *= -beta
        gradient = self.temperature_map.vjp(by_beta)
        distance = parameters - self.centre
        pull = self.strength / self.weight.sum() * distance
        return value + float(pull @ distance), gradient + 2 * pull
