"""Fields ``u(p, y) (p - e_y)``: the weighted gradient with its weight held constant.

Conventions
-----------
A field is gradient-like but in general no gradient: there is no value. It is called as
``field(logits, y, weight) -> FieldAt``, which holds its rows (n, K), each times the
weight (n,) of the sample, and their derivative. Rows sum to 0.

Where the uncertainty weight is a function of ``v = 1 - p_y`` alone the field is the
gradient of a potential.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, hyp2f1

from .forward_links import ForwardLink
from .uncertainty_weights import LabelledRows, UncertaintyWeight

# Powers up to 2^-54 settle a series at one half; beyond this exponent it would cancel.
_N_TERMS, _SERIES_UP_TO = 55, 8.0


class FieldAt:
    """The field at one point: its rows, and its derivative in a direction.

    Attributes
    ----------
    value : ndarray of shape (n, K)
        ``weight u(p, y) (p - e_y)``, each row without cancellation.
    weight : ndarray of shape (n,)
        ``weight u(p, y)``.
    """

    def __init__(
        self, uncertainty: UncertaintyWeight, rows: LabelledRows, weight: NDArray
    ) -> None:
        self.uncertainty, self.rows, self._sample_weight = uncertainty, rows, weight
        self.weight = weight * uncertainty.value(rows)
        self.value = rows.away_from_label(self.weight * rows.miss)

    def at(self, logits: NDArray) -> FieldAt:
        """The field of the same samples at other logits."""
        rows = LabelledRows(logits, self.rows.y)
        return FieldAt(self.uncertainty, rows, self._sample_weight)

    @cached_property
    def _log_gradient(self) -> NDArray:
        return self.uncertainty.log_gradient(self.rows)

    @cached_property
    def _weighted_probabilities(self) -> NDArray:
        return self.rows.probabilities * self.weight[:, None]

    def derivative(self, direction: NDArray) -> NDArray:
        """Change of the rows (n, K) for a change of the logits, first order."""
        mean = np.einsum("ij,ij->i", self.rows.probabilities, direction)
        change = direction - mean[:, None]
        change *= self._weighted_probabilities
        if not self.uncertainty.constant:
            growth = np.einsum("ij,ij->i", self._log_gradient, direction)
            change += self.value * growth[:, None]
        return change

    def curvature(self) -> NDArray:
        """Mean over the classes of the diagonal of the derivative, (n,), >= 0.

        For cross-entropy and equally likely classes that is ``p_k``, the derivative in
        any direction; with two classes, for any weight, that by the one score.
        """
        p = self.rows.probabilities
        out = self.weight * (1 - np.einsum("ij,ij->i", p, p))
        if not self.uncertainty.constant:
            out += np.einsum("ij,ij->i", self._log_gradient, self.value)
        return np.maximum(out, 0) / max(2, p.shape[1] - 1)

    def jacobian(self) -> NDArray:
        """All derivatives (n, K, K): change of the first index by the second."""
        p = self.rows.probabilities
        out = p[:, :, None] * -p[:, None, :]
        at = np.arange(p.shape[1])
        out[:, at, at] += p
        out *= self.weight[:, None, None]
        out += self.value[:, :, None] * self._log_gradient[:, None, :]
        return out


class LinkedFieldAt(FieldAt):
    """The field at the raw output of a posterior, whose scores are the variable."""

    def __init__(
        self,
        uncertainty: UncertaintyWeight,
        scores: NDArray,
        y: NDArray,
        weight: NDArray,
        near: ForwardLink | None = None,
    ) -> None:
        self._link = ForwardLink(uncertainty, scores, near)
        super().__init__(uncertainty, LabelledRows(self._link.raw_logits, y), weight)

    def at(self, logits: NDArray) -> LinkedFieldAt:
        """The field of the same samples at other scores, found from here."""
        return LinkedFieldAt(
            self.uncertainty, logits, self.rows.y, self._sample_weight, self._link
        )

    def derivative(self, direction: NDArray) -> NDArray:
        """Change of the rows (n, K) for a change of the scores, first order."""
        return super().derivative(self._link.derivative(direction))

    def curvature(self) -> NDArray:
        """Mean over the classes of the diagonal of the expected derivative, (n,).

        For labels that follow the posterior ``eta`` the field has mean 0, so the
        derivative has mean ``s (diag(p) - p p^T)`` with ``s p_k = eta_k u(p, k)``.
        """
        p = self.rows.probabilities
        log_ratio = self._link.log_posterior(self.rows.y) + self.rows.cross_entropy
        out = self.weight * np.exp(log_ratio)
        out *= 1 - np.einsum("ij,ij->i", p, p)
        return np.maximum(out, 0) / max(2, p.shape[1] - 1)


@dataclass(frozen=True)
class WeightedField:
    """The field of an uncertainty weight."""

    uncertainty: UncertaintyWeight

    def __call__(self, logits: NDArray, y: NDArray, weight: NDArray) -> FieldAt:
        return FieldAt(self.uncertainty, LabelledRows(logits, y), weight)

    def monitored(
        self, logits: NDArray, y: NDArray, weight: NDArray
    ) -> tuple[float, NDArray]:
        """``sum_i weight_i u_i (-log p_y)`` and the field, which is not its gradient.

        For stochastic solvers, which follow the field and report the number.
        """
        at = self(logits, y, weight)
        return float(np.dot(at.weight, at.rows.cross_entropy)), at.value


@dataclass(frozen=True)
class LinkedField(WeightedField):
    """The same field, where the logits are those of the posterior.

    The output ``p`` of the field is the one whose `inverse_links.field_log_posterior`
    they are, so the mean of the field over labels that follow the posterior is 0: a
    model of the posterior that holds is found, whatever the weight. Only for weights
    that are ``invertible``.
    """

    def __call__(self, logits: NDArray, y: NDArray, weight: NDArray) -> FieldAt:
        return LinkedFieldAt(self.uncertainty, logits, y, weight)


def potential(
    pieces: list[tuple[float, float, float]], miss: NDArray, cross_entropy: NDArray
) -> NDArray:
    """The function (n,) whose gradient by the logits is the field, 0 at ``v = 0``.

    ``integral of u(s) / (1 - s) ds from 0 to v``, as ``-log(1 - v)`` is the
    cross-entropy; continuous also where ``u`` jumps from one piece to the next.

    Parameters
    ----------
    pieces : list of (upper, coefficient, exponent)
        The weight as a function of v, see ``UncertaintyWeight.pieces``.
    miss, cross_entropy : ndarray of shape (n,)
        ``v`` and ``-log(1 - v)`` of each row.
    """
    out = np.zeros_like(miss)
    lower = 0.0
    for upper, coefficient, exponent in pieces:
        begun = miss > lower
        part = _power_potential(exponent, miss[begun], cross_entropy[begun])
        if upper < 1:
            end = np.array([upper])
            part = np.minimum(part, _power_potential(exponent, end, -np.log1p(-end)))
        if lower > 0:
            start = np.array([lower])
            part -= _power_potential(exponent, start, -np.log1p(-start))
        out[begun] += coefficient * part
        lower = upper
    return out


def _power_potential(gamma: float, v: NDArray, cross_entropy: NDArray) -> NDArray:
    """``v^(gamma+1) / (gamma+1) 2F1(1, gamma+1; gamma+2; v)``, rising in v.

    The series of 2F1 in v below one half. Above, it is the cross-entropy less the
    harmonic number of gamma, plus ``integral (1 - s^gamma) / (1 - s) ds`` from v to 1,
    a binomial series in ``1 - v``.
    """
    if gamma == 0:
        return cross_entropy
    hit = 1 - v
    term = np.arange(1, _N_TERMS)
    if gamma > _SERIES_UP_TO:  # its binomial series would cancel
        low = v ** (gamma + 1) / (gamma + 1) * hyp2f1(1, gamma + 1, gamma + 2, v)
        near = hit < 1e-9
    else:
        low = v ** (gamma + 1) * _polynomial(1 / (gamma + term), v)
        near = v > 0.5
    binomial = -np.cumprod(-(gamma - term + 1) / term) / term
    high = cross_entropy - (digamma(gamma + 1) + np.euler_gamma)
    high += hit * _polynomial(binomial, hit)
    return np.where(near, high, low)


def _polynomial(coefficients: NDArray, x: NDArray) -> NDArray:
    """``sum_k coefficients[k] x^k`` by Horner."""
    out = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        out *= x
        out += coefficient
    return out
