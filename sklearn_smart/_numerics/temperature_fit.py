"""Fits of temperature maps: what calibrators ask of the floors below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .calibration_losses import log_loss
from .solvers import convex_root
from .tempered import TemperedLogits

# The inverse temperature is sought between these multiples of one over the mean gap
# of the logits below the top one. At the lower end all classes are equally likely to
# four digits, at the upper end all probabilities are 0 or 1.
_LOWEST, _HIGHEST = 1e-4, 1e4


@dataclass(frozen=True)
class SingleTemperature:
    temperature: float
    loss: float
    n_iter: int
    converged: bool


def fit_single_temperature(rows: TemperedLogits, weight: NDArray) -> SingleTemperature:
    """The temperature of least log loss, to the precision of the arithmetic.

    The log loss is convex in ``1 / T``, so its slope has one root. Where it has none
    (worse than chance, or no error at all) the temperature is a bound of the search
    and ``converged`` is False. Rows whose logits are all equal say nothing; where all
    do so, the temperature is 1.
    """
    n_classes = rows.logits.shape[1]
    mean_gap = rows.mean_gap()
    scale = float(weight @ mean_gap / weight.sum()) * n_classes / (n_classes - 1)
    if scale == 0.0:
        return SingleTemperature(1.0, float(np.log(n_classes)), 0, True)

    def slope(t: float) -> float:
        _, gradient = log_loss(rows.at(np.float64(np.exp(t) / scale)), weight)
        return float(gradient.sum())

    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    t, n_iter, converged = convex_root(slope, low, high)
    beta = np.exp(t) / scale
    value, _ = log_loss(rows.at(np.float64(beta)), weight)
    return SingleTemperature(float(1 / beta), value, n_iter, converged)
