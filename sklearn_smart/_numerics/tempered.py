"""Logits as functions of an inverse temperature, one curve per row.

Everything that calibration by temperature asks of a row of logits z with label y is

- ``L(beta) = log sum_j exp(beta (z_j - max z))``, convex and decreasing in
  ``beta = 1 / T``, with slope ``L'(beta) = E_p[z - max z]``,
- ``gap = max z - z_y``, the distance of the label's logit from the top,
- ``correct``, whether the predicted class is the label:

``-log p_y = L + beta gap``; the confidence is ``exp(-L)``; and
``sum_j p_j^2 = exp(L(2 beta) - 2 L(beta))`` gives the Brier score. Losses therefore
see a batch as a `Tempered` and return gradients of shape (n,), whatever K is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .logits import row_blocks, top_two


class TemperedLogits:
    """The curves of a calibration set, evaluated exactly from the logits.

    Parameters
    ----------
    logits : ndarray of shape (n, K)
    y : ndarray of shape (n,)
        Column index of the label of each row.
    """

    def __init__(self, logits: NDArray, y: NDArray) -> None:
        self.logits = logits
        self.top, self.runner_up, predicted = top_two(logits)
        at = np.arange(len(y))
        self.gap = (self.top - logits[at, y]).astype(np.float64)
        self.correct = predicted == y

    def __len__(self) -> int:
        return len(self.top)

    def mean_gap(self) -> NDArray:
        """Mean distance of a row's logits from its top one, (n,)."""
        return self.top - self.logits.mean(axis=1, dtype=np.float64)

    def at(self, beta: NDArray) -> Tempered:
        """The batch at inverse temperatures ``beta``, of shape (n,) or ()."""
        return Tempered(self, np.broadcast_to(beta, self.top.shape))

    def log_partition(self, beta: NDArray) -> tuple[NDArray, NDArray]:
        """``L`` and its derivative at one ``beta`` per row, both float64 (n,)."""
        logits = self.logits
        value, slope = np.empty(len(self)), np.empty(len(self))
        factor = beta.astype(logits.dtype)[:, None]
        with np.errstate(under="ignore"):
            for rows in row_blocks(*logits.shape):
                gaps = logits[rows] - self.top[rows, None]
                terms = gaps * factor[rows]
                np.exp(terms, out=terms)
                total = terms.sum(axis=1, dtype=np.float64)
                value[rows] = total
                slope[rows] = np.einsum("ij,ij->i", terms, gaps) / total
        return np.log(value, out=value), slope


@dataclass(frozen=True)
class Tempered:
    """Rows at given inverse temperatures: what a calibration loss sees."""

    rows: TemperedLogits
    beta: NDArray

    @cached_property
    def _partition(self) -> tuple[NDArray, NDArray]:
        return self.rows.log_partition(self.beta)

    @property
    def log_partition(self) -> NDArray:
        return self._partition[0]

    @property
    def slope(self) -> NDArray:
        """Derivative of the log partition with respect to ``beta``."""
        return self._partition[1]

    @cached_property
    def confidence(self) -> NDArray:
        return np.exp(-self.log_partition)

    @property
    def gap(self) -> NDArray:
        return self.rows.gap

    @property
    def correct(self) -> NDArray:
        return self.rows.correct

    @cached_property
    def doubled(self) -> Tempered:
        """The same rows at twice the inverse temperature."""
        return Tempered(self.rows, 2 * self.beta)
