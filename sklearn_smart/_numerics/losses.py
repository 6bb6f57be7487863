"""Losses of logits: value, and gradient by the logits.

Conventions
-----------
``loss(logits, y, weight) -> (value, gradient)``: logits (n, K), ``y`` (n,) the column
of each label, ``weight`` (n,) frequencies. ``value`` is the weighted sum over rows,
lower is better, and ``gradient`` (n, K) its derivative, whose rows sum to 0; for
`MMCE`, which couples the rows, the value is ``sum(weight)`` times that of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .fields import potential
from .uncertainty_weights import LabelledRows, UncertaintyWeight


class Loss(Protocol):
    def __call__(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]: ...


def cross_entropy(
    logits: NDArray, y: NDArray, weight: NDArray
) -> tuple[float, NDArray]:
    """``-log p_y``."""
    rows = LabelledRows(logits, y)
    return _total(weight, rows.cross_entropy), rows.away_from_label(weight * rows.miss)


@dataclass(frozen=True)
class WeightedCrossEntropy:
    """``-u(p, y) log p_y`` with the gradient through the weight as well.

    With the Brier weight this is BSCE, with the focal weight the focal loss.
    """

    uncertainty: UncertaintyWeight

    def __call__(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        rows = LabelledRows(logits, y)
        total = weight * self.uncertainty.value(rows)
        gradient = rows.away_from_label(total * rows.miss)
        loss = total * rows.cross_entropy
        if not self.uncertainty.constant:
            through = self.uncertainty.log_gradient(rows)
            through *= loss[:, None]
            gradient += through
        return float(loss.sum(dtype=np.float64)), gradient


@dataclass(frozen=True)
class Potential:
    """The function whose gradient is the field, where the weight has one.

    ``pieces`` as `UncertaintyWeight.pieces` gives them.
    """

    uncertainty: UncertaintyWeight
    pieces: tuple[tuple[float, float, float], ...]

    def __call__(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        rows = LabelledRows(logits, y)
        value = potential(list(self.pieces), rows.miss, rows.cross_entropy)
        scale = weight * self.uncertainty.value(rows) * rows.miss
        return _total(weight, value), rows.away_from_label(scale)


def brier_score(logits: NDArray, y: NDArray, weight: NDArray) -> tuple[float, NDArray]:
    """``||p - e_y||^2``, between 0 and 2. Proper.

    With ``p - e_y = v (r - e_y)`` it is ``v^2 (1 + S)``, ``S = sum_k r_k^2``.
    """
    rows = LabelledRows(logits, y)
    squares = np.einsum("ij,ij->i", rows.shares, rows.shares)
    value = rows.miss**2 * (1 + squares)
    gradient = rows.away_from_label(weight * 2 * value * rows.hit)
    scale = (weight * 2 * rows.miss**2)[:, None]
    gradient += scale * rows.shares * (rows.shares - squares[:, None])
    return _total(weight, value), gradient


@dataclass(frozen=True)
class LabelSmoothing:
    """Cross-entropy against ``(1 - smoothing) e_y + smoothing / K``."""

    smoothing: float = 0.05

    def __call__(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        rows = LabelledRows(logits, y)
        n_classes = logits.shape[1]
        # mean_k log p_k - log p_y = mean_k (z_k - z_y)
        lead = rows.label_logit - logits.mean(axis=1)
        value = rows.cross_entropy + self.smoothing * lead
        gradient = rows.away_from_label(weight * rows.miss)
        gradient -= (self.smoothing / n_classes * weight)[:, None]
        gradient[rows.at, y] += self.smoothing * weight
        return _total(weight, value), gradient


@dataclass(frozen=True)
class MMCE:
    """Cross-entropy plus ``strength`` times the maximum mean calibration error.

    ``MMCE^2 = sum_ij w_i w_j e_i e_j exp(-|c_i - c_j| / width) / (sum w)^2`` with
    ``e = c - a``: confidence less correctness. A. Kumar, S. Sarawagi, U. Jain, ICML
    2018. Memory and time are quadratic in the number of rows: a loss for batches.
    """

    strength: float = 1.0
    width: float = 0.4

    def __call__(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        value, gradient = cross_entropy(logits, y, weight)
        p = LabelledRows(logits, y).probabilities
        at, top = np.arange(len(y)), logits.argmax(axis=1)
        confidence = p[at, top]
        error = weight * (confidence - (top == y))
        gap = confidence[:, None] - confidence
        kernel = np.exp(-np.abs(gap) / self.width)
        smooth = kernel @ error
        square = max(float(error @ smooth), 0.0)
        distance = np.sqrt(square)
        if distance == 0.0:
            return value, gradient
        kernel *= np.sign(gap)
        by_confidence = weight * smooth - error * (kernel @ error) / self.width
        by_confidence *= self.strength / distance
        through = -p * (by_confidence * confidence)[:, None]
        through[at, top] += by_confidence * confidence
        return value + self.strength * distance, gradient + through


def _total(weight: NDArray, value: NDArray) -> float:
    return float(np.dot(weight, value))
