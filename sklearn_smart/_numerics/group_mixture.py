"""Soft groups of rows, each with a temperature: the log loss of their mixture.

``p = sum_g pi_g softmax(z / T_g)`` with ``pi = softmax(x W + b)`` of features x of the
row. The label's probability under each temperature comes from the row's curve, so the
cost does not depend on the number of classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .logits import softmax
from .tempered import CurveTable

# Temperatures stay within e^14 times the single one, either way.
_FARTHEST = 14.0


class GroupMixture:
    """The objective of weights, biases and log inverse temperatures, in one vector.

    Parameters
    ----------
    curves : CurveTable
        Curves of the rows.
    x : ndarray of shape (n, d)
        Standardised features.
    weight : ndarray of shape (n,)
    n_groups : int
    beta : float
        Inverse of the single temperature.
    alpha : float
        Strength of the penalty ``alpha ||W||^2 / n``.
    """

    def __init__(
        self,
        curves: CurveTable,
        x: NDArray,
        weight: NDArray,
        n_groups: int,
        beta: float,
        alpha: float,
    ) -> None:
        self.curves, self.x, self.share = curves, x, weight / weight.sum()
        self.n_groups, self.beta = n_groups, beta
        self.strength = alpha / float(weight.sum())

    def split(self, parameters: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """``W`` (d, G), ``b`` (G,) and the inverse temperatures (G,)."""
        g = self.n_groups
        t = np.clip(parameters[-g:], -_FARTHEST, _FARTHEST)
        return (
            parameters[: -2 * g].reshape(-1, g),
            parameters[-2 * g : -g],
            self.beta * np.exp(t),
        )

    def start(self, random_state: np.random.RandomState) -> NDArray:
        """Random directions, and temperatures near the single one."""
        g = self.n_groups
        weights = random_state.normal(size=self.x.shape[1] * g)
        around = np.linspace(-0.1, 0.1, g) if g > 1 else np.zeros(1)
        return np.concatenate([weights, np.zeros(g), around])

    def __call__(self, parameters: NDArray) -> tuple[float, NDArray]:
        weights, bias, beta = self.split(parameters)
        members = softmax(self.x @ weights + bias)
        of_label = np.empty_like(members)
        slopes = np.empty_like(members)
        for g, b in enumerate(beta):
            partition, slope = self.curves.log_partition(np.full(len(self.x), b))
            of_label[:, g] = np.exp(-partition - b * self.curves.gap)
            slopes[:, g] = b * (slope + self.curves.gap)
        joint = members * of_label
        total = np.maximum(joint.sum(axis=1), np.finfo(np.float64).tiny)
        posterior = joint / total[:, None]
        by_group = self.share[:, None] * (members - posterior)
        value = -float(self.share @ np.log(total))
        value += self.strength * float(np.vdot(weights, weights))
        gradient = np.concatenate(
            [
                (self.x.T @ by_group + 2 * self.strength * weights).ravel(),
                by_group.sum(axis=0),
                self.share @ (posterior * slopes),
            ]
        )
        return value, gradient
