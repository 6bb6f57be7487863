"""Losses of tempered rows: value and gradient with respect to ``beta = 1 / T``.

Conventions
-----------
A loss is called as ``loss(tempered, weight) -> (value, gradient)``: ``tempered`` holds
n rows at their inverse temperatures, ``weight`` is (n,) and positive, ``value`` is a
weighted mean over rows (for the binned losses the sum over bins divided by the weight),
``gradient`` is (n,), the derivative of ``value`` with respect to each row's ``beta``.
``c`` is the confidence, ``a`` is 1 where the prediction is correct.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .bins import DirectSoftBins, SoftBinPlaces, SoftBinTable
from .tempered import Tempered


class CalibrationLoss(Protocol):
    def __call__(
        self, tempered: Tempered, weight: NDArray
    ) -> tuple[float, NDArray]: ...


def log_loss(tempered: Tempered, weight: NDArray) -> tuple[float, NDArray]:
    """Mean of ``-log p_y = L(beta) + beta gap``."""
    share = weight / weight.sum()
    value = share @ (tempered.log_partition + tempered.beta * tempered.gap)
    return float(value), share * (tempered.slope + tempered.gap)


def brier_score(tempered: Tempered, weight: NDArray) -> tuple[float, NDArray]:
    """Mean of ``||p - e_y||^2 = sum_j p_j^2 - 2 p_y + 1``, between 0 and 2."""
    share = weight / weight.sum()
    double = tempered.doubled
    squares = np.exp(double.log_partition - 2 * tempered.log_partition)
    p_y = np.exp(-tempered.log_partition - tempered.beta * tempered.gap)
    value = share @ (squares - 2 * p_y + 1)
    gradient = 2 * squares * (double.slope - tempered.slope)
    gradient += 2 * p_y * (tempered.slope + tempered.gap)
    return float(value), share * gradient


def top_label_log_loss(tempered: Tempered, weight: NDArray) -> tuple[float, NDArray]:
    """Mean of ``-a log c - (1 - a) log(1 - c)``, with ``log c = -L``."""
    share = weight / weight.sum()
    # Confidence 1 in double precision would be an infinite loss on a wrong row.
    value = np.maximum(tempered.log_partition, np.finfo(np.float64).eps)
    gradient = tempered.slope.copy()
    # Few rows are wrong, and only they need more than the curve itself.
    wrong = np.flatnonzero(~tempered.correct)
    partition = value[wrong]
    value[wrong] = -np.log(-np.expm1(-partition))
    gradient[wrong] /= -np.expm1(partition)
    return float(share @ value), share * gradient


class CharbonnierSoftECE:
    """``(1/n) sum_b sqrt(s_b^2 + (smoothing * M_b)^2)`` over soft bins.

    ``s_b = sum_i w_ib (c_i - a_i)`` is the signed gap of bin b and ``M_b = sum_i w_ib``
    its mass, with Gaussian memberships ``w_ib`` around the bin centres. With smoothing
    0 it is SoftECE, whose gradient at ``s_b = 0`` is taken as 0.

    Parameters
    ----------
    centres : ndarray of shape (B,)
    bandwidth : float
    smoothing : float
    table : SoftBinTable, default=None
        The memberships on a grid: faster where a fit calls for them many times.
    """

    def __init__(
        self,
        centres: NDArray,
        bandwidth: float,
        smoothing: float,
        table: SoftBinTable | None = None,
    ) -> None:
        self.centres = centres
        self.bandwidth = bandwidth
        self.smoothing = smoothing
        self.table = table

    def __call__(self, tempered: Tempered, weight: NDArray) -> tuple[float, NDArray]:
        confidence = tempered.confidence
        value, gradient = self.of_confidence(confidence, tempered.correct, weight)
        # dc / dbeta = -c L'
        gradient *= confidence
        gradient *= -tempered.slope
        return value, gradient

    def of_confidence(
        self, confidence: NDArray, correct: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        """Value, and gradient with respect to the confidences, (n,)."""
        total = weight.sum()
        error = confidence - correct
        bins: SoftBinPlaces | DirectSoftBins = (
            DirectSoftBins(confidence, self.centres, self.bandwidth)
            if self.table is None
            else self.table.place(confidence)
        )
        signed, mass = bins.sums(weight * error), bins.sums(weight)
        spread = np.hypot(signed, self.smoothing * mass)
        safe = np.where(spread > 0, spread, 1.0)
        gradient, change = bins.mix(signed / safe)
        gradient += error * change
        if self.smoothing:
            gradient += bins.mix(self.smoothing**2 * mass / safe)[1]
        gradient *= weight / total
        return float(spread.sum() / total), gradient
