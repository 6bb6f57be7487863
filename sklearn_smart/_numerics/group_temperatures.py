"""A temperature for each group of rows, near a common one, as a grouped problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tempered import CurveTable


class GroupTemperatures:
    """``T = T_0 exp(-t_g)`` for the rows of group g: log loss, gradient, information.

    Parameters
    ----------
    curves : CurveTable
        Curves of the rows.
    group : ndarray of shape (n,)
        Group of each row, from 0.
    n_groups : int
    weight : ndarray of shape (n,)
    beta : float
        ``1 / T_0``.
    """

    # Beyond e^14 times T_0, either way, a temperature is as good as 0 or infinite.
    _FARTHEST = 14.0

    def __init__(
        self,
        curves: CurveTable,
        group: NDArray,
        n_groups: int,
        weight: NDArray,
        beta: float,
    ) -> None:
        self.curves, self.group, self.weight, self.beta = curves, group, weight, beta
        self.n_groups = n_groups

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.n_groups,)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    def temperatures(self, parameters: NDArray) -> NDArray:
        """The temperature of each group, (n_groups,)."""
        bounded = np.clip(parameters, -self._FARTHEST, self._FARTHEST)
        return np.exp(-bounded) / self.beta

    def beta_of_rows(self, parameters: NDArray) -> NDArray:
        """The inverse temperature of each row, (n,)."""
        return (1 / self.temperatures(parameters))[self.group]

    def loss(self, parameters: NDArray) -> tuple[float, NDArray]:
        """Sum of the log losses, and its gradient."""
        beta = self.beta_of_rows(parameters)
        value, slope = self.curves.log_partition(beta)
        total = float(self.weight @ (value + beta * self.curves.gap))
        by_t = self.weight * beta * (slope + self.curves.gap)
        gradient = np.bincount(self.group, by_t, self.n_groups)
        gradient[np.abs(parameters) >= self._FARTHEST] = 0.0
        return total, gradient

    def information(self, parameters: NDArray) -> NDArray:
        """Of each ``t_g``: the sum of the variances of the tempered logits."""
        beta = self.beta_of_rows(parameters)
        step = 1e-3
        _, after = self.curves.log_partition(beta * (1 + step))
        _, before = self.curves.log_partition(beta * (1 - step))
        variance = np.maximum(beta * (after - before) / (2 * step), 0)
        return np.bincount(self.group, self.weight * variance, self.n_groups)
