"""Uncertainty weights ``u(p, y)`` of a labelled row of logits, and their gradients.

Conventions
-----------
``r_k = p_k / (1 - p_y)`` is the share of another class in what the label y lacks, with
``r_y = 0``, and ``v = 1 - p_y``. Every weight here is ``u = (v m(r))^gamma`` with a
factor ``m`` of the shares alone, so that ``u`` and its gradient come from the logits
without cancellation, also where p is exactly at one class.

========================= ======================= =================================
weight                    gamma                   m
========================= ======================= =================================
cross-entropy             0                       1
focal                     gamma                   1
sample-dependent focal    5 if p_y < 0.2 else 3   1
Brier                     gamma                   ``(1 + sum_k r_k^norm)^(1/norm)``
dual focal                gamma                   ``1 + r_j``, j the next below y
top-label (TLBS)          gamma                   ``max_k r_k`` if wrong else 1
========================= ======================= =================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


class LabelledRows:
    """Softmax rows seen from their label.

    Parameters
    ----------
    logits : ndarray of shape (n, K)
        Finite, or ``-inf`` for a class that has probability 0.
    y : ndarray of shape (n,)
        Column of each row's label.

    Attributes
    ----------
    log_odds : ndarray of shape (n,)
        ``log((1 - p_y) / p_y)``, of which everything about ``p_y`` is a function.
    shares : ndarray of shape (n, K)
        ``r``: the softmax of the other classes, 0 at the label.
    """

    def __init__(self, logits: NDArray, y: NDArray) -> None:
        self.logits, self.y = logits, y
        self.at = np.arange(len(y))
        self.label_logit = logits[self.at, y]
        shares = np.array(logits)
        shares[self.at, y] = -np.inf
        top = shares.max(axis=1)
        with np.errstate(divide="ignore"):
            shares -= np.maximum(top, np.finfo(top.dtype).min)[:, None]
            np.exp(shares, out=shares)
            total = shares.sum(axis=1)
            self.log_odds = top + np.log(total) - self.label_logit
        # Only where all others have probability 0 is the total 0, not at least 1.
        shares /= np.maximum(total, 0.5)[:, None]
        self.shares = shares

    @cached_property
    def miss(self) -> NDArray:
        """``v = 1 - p_y``, with full relative precision."""
        return expit(self.log_odds)

    @cached_property
    def hit(self) -> NDArray:
        """``p_y``."""
        return expit(-self.log_odds)

    @cached_property
    def cross_entropy(self) -> NDArray:
        """``-log p_y``, with full relative precision."""
        return np.logaddexp(0, self.log_odds)

    @cached_property
    def probabilities(self) -> NDArray:
        """``p`` (n, K)."""
        out = self.shares * self.miss[:, None]
        out[self.at, self.y] = self.hit
        return out

    def away_from_label(self, scale: NDArray) -> NDArray:
        """``scale (r - e_y)``; with scale ``v`` it is ``p - e_y``."""
        out = self.shares * scale[:, None]
        out[self.at, self.y] = -scale
        return out


@dataclass(frozen=True)
class UncertaintyWeight:
    """``u = (v m(r))^gamma``; without a factor this is the focal weight.

    ``invertible`` tells whether u is continuous and falls in ``p_k``, so that the
    posterior can be told from the stationary point.
    """

    gamma: float = 2.0
    invertible: bool = field(default=True, init=False)

    @property
    def constant(self) -> bool:
        """Whether u is 1 for every p, so that the field is that of cross-entropy."""
        return self.gamma == 0

    def exponent(self, rows: LabelledRows) -> float | NDArray:
        """The exponent of each row."""
        return self.gamma

    def factor(self, rows: LabelledRows) -> NDArray | float:
        """``m`` of each row."""
        return 1.0

    def factor_log_gradient(self, rows: LabelledRows) -> NDArray | None:
        """Derivative of ``log m`` by the logits (n, K); None where it is 0."""
        return None

    def value(self, rows: LabelledRows) -> NDArray:
        """``u`` (n,): 0 where p is at the label, 1 everywhere for exponent 0."""
        return np.power(rows.miss * self.factor(rows), self.exponent(rows))

    def log_gradient(self, rows: LabelledRows) -> NDArray:
        """Derivative of ``log u`` by the logits (n, K), finite for every p.

        ``gamma (p_y (r - e_y) + d log m)``.
        """
        out = rows.away_from_label(rows.hit)
        by_factor = self.factor_log_gradient(rows)
        if by_factor is not None:
            out += by_factor
        out *= np.reshape(self.exponent(rows), (-1, 1))
        return out

    def log_values_of_all(self, log_p: NDArray, log_rest: NDArray) -> NDArray:
        """``log u(p, k)`` for every class k as the label, (n, K).

        ``log_p`` and ``log_rest`` are ``log p_k`` and ``log(1 - p_k)``.
        """
        return self.gamma * log_rest

    def norm_of_others(self, n_classes: int) -> float | None:
        """The norm q of ``u = ((1 - p_y)^q + sum_{j != y} p_j^q)^(gamma / q)``.

        None where u is a function of ``p_y`` alone, a constant times
        ``(1 - p_y)^gamma``. Only for weights that are ``invertible``.
        """
        return None

    def pieces(self, n_classes: int) -> list[tuple[float, float, float]] | None:
        """``(upper, coefficient, exponent)`` where u is a function of v alone.

        ``u = coefficient v^exponent`` for v up to ``upper``, in rising order; None
        where u depends on more than v, so that its field has no potential.
        """
        return [(1.0, 1.0, self.gamma)]


@dataclass(frozen=True)
class CrossEntropyWeight(UncertaintyWeight):
    """``u = 1``."""

    gamma: float = field(default=0.0, init=False)

    def value(self, rows: LabelledRows) -> NDArray:
        return np.ones_like(rows.miss)


@dataclass(frozen=True)
class FocalWeight(UncertaintyWeight):
    """``u = (1 - p_y)^gamma`` (arXiv 1708.02002)."""


@dataclass(frozen=True)
class SampleDependentFocalWeight(UncertaintyWeight):
    """FLSD-53: ``(1 - p_y)^5`` where ``p_y < 0.2``, else ``(1 - p_y)^3``.

    J. Mukhoti et al., arXiv 2002.09437.
    """

    gamma: float = field(default=3.0, init=False)
    invertible: bool = field(default=False, init=False)

    def exponent(self, rows: LabelledRows) -> NDArray:
        return np.where(rows.hit < 0.2, 5, 3).astype(rows.hit.dtype)

    def pieces(self, n_classes: int) -> list[tuple[float, float, float]]:
        return [(0.8, 1.0, 3.0), (1.0, 1.0, 5.0)]


@dataclass(frozen=True)
class BrierWeight(UncertaintyWeight):
    """``u = ||p - e_y||_norm^gamma`` (arXiv 2503.22725); norm may be ``inf``."""

    norm: float = 2.0

    def _power(self, values: NDArray) -> NDArray:
        return values * values if self.norm == 2 else np.power(values, self.norm)

    def _sum(self, rows: LabelledRows) -> NDArray:
        if self.norm == 2:
            return np.einsum("ij,ij->i", rows.shares, rows.shares)
        return self._power(rows.shares).sum(axis=1)

    def _of_label_alone(self, n_classes: int) -> bool:
        return self.norm == 1 or self.norm == np.inf or n_classes == 2

    def factor(self, rows: LabelledRows) -> NDArray | float:
        if self._of_label_alone(rows.shares.shape[1]):
            return 1.0 if self.norm == np.inf else 2.0 ** (1 / self.norm)
        return np.power(1 + self._sum(rows), 1 / self.norm)

    def factor_log_gradient(self, rows: LabelledRows) -> NDArray | None:
        if self._of_label_alone(rows.shares.shape[1]):
            return None
        total = self._sum(rows)[:, None]
        out = self._power(rows.shares)
        out -= rows.shares * total
        out /= 1 + total
        return out

    def log_values_of_all(self, log_p: NDArray, log_rest: NDArray) -> NDArray:
        if self.norm == np.inf:
            return self.gamma * log_rest
        # (1 - p_k)^q (1 + sum_{j != k} (p_j / (1 - p_k))^q): the sum over the others
        # is found without the difference of nearly equal numbers at the largest class.
        q = self.norm
        top = log_p.argmax(axis=1)[:, None]
        powers = np.exp(q * log_p)
        largest = np.take_along_axis(powers, top, axis=1)
        np.put_along_axis(powers, top, 0.0, axis=1)
        small = powers.sum(axis=1, keepdims=True)
        total = np.exp(q * log_rest) + (small - powers) + largest
        out = np.log(total) / q
        # At the largest class all may underflow: measure in units of 1 - p_top.
        log_v = np.take_along_axis(log_rest, top, axis=1)
        shares = log_p - log_v
        np.put_along_axis(shares, top, -np.inf, axis=1)
        share_sum = np.exp(q * shares).sum(axis=1, keepdims=True)
        np.put_along_axis(out, top, log_v + np.log1p(share_sum) / q, axis=1)
        return self.gamma * out

    def norm_of_others(self, n_classes: int) -> float | None:
        return None if self._of_label_alone(n_classes) else self.norm

    def pieces(self, n_classes: int) -> list[tuple[float, float, float]] | None:
        if self.gamma == 0:
            return [(1.0, 1.0, 0.0)]
        if not self._of_label_alone(n_classes):
            return None
        base = 1.0 if self.norm == np.inf else 2.0 ** (1 / self.norm)
        return [(1.0, base**self.gamma, self.gamma)]


@dataclass(frozen=True)
class DualFocalWeight(UncertaintyWeight):
    """``u = (1 - p_y + p_j)^gamma``, p_j the largest probability below ``p_y``.

    ``p_j`` is 0 where no class is less likely than the label. L. Tao et al., arXiv
    2305.13665.
    """

    gamma: float = 5.0
    invertible: bool = field(default=False, init=False)

    def _next_below(self, rows: LabelledRows) -> tuple[NDArray, NDArray]:
        below = np.where(rows.logits < rows.label_logit[:, None], rows.shares, 0)
        index = below.argmax(axis=1)
        return index, below[rows.at, index]

    def factor(self, rows: LabelledRows) -> NDArray:
        return 1 + self._next_below(rows)[1]

    def factor_log_gradient(self, rows: LabelledRows) -> NDArray:
        index, share = self._next_below(rows)
        ratio = share / (1 + share)
        out = -rows.shares * ratio[:, None]
        out[rows.at, index] += ratio
        return out

    def pieces(self, n_classes: int) -> list[tuple[float, float, float]] | None:
        if self.gamma == 0:
            return [(1.0, 1.0, 0.0)]
        if n_classes > 2:
            return None
        # Below one half the other class is the lesser one and counts a second time.
        below = float(np.nextafter(0.5, 0))
        return [(below, 2.0**self.gamma, self.gamma), (1.0, 1.0, self.gamma)]


@dataclass(frozen=True)
class TopLabelBrierWeight(UncertaintyWeight):
    """TLBS: ``u = |a - c|^gamma``, c the confidence, a 1 where the top class is y."""

    invertible: bool = field(default=False, init=False)

    def _wrong(self, rows: LabelledRows) -> NDArray:
        return rows.logits.argmax(axis=1) != rows.y

    def factor(self, rows: LabelledRows) -> NDArray:
        return np.where(self._wrong(rows), rows.shares.max(axis=1), 1)

    def factor_log_gradient(self, rows: LabelledRows) -> NDArray | None:
        wrong = self._wrong(rows).astype(rows.shares.dtype)
        out = -rows.shares * wrong[:, None]
        out[rows.at, rows.shares.argmax(axis=1)] += wrong
        return out

    def pieces(self, n_classes: int) -> list[tuple[float, float, float]] | None:
        if self.gamma == 0:
            return [(1.0, 1.0, 0.0)]
        return [(1.0, 1.0, self.gamma)] if n_classes == 2 else None


#: Names of the weights, and how each is made of an exponent and a norm.
WEIGHTS: dict[str, Callable[[float, float], UncertaintyWeight]] = {
    "brier": lambda gamma, norm: BrierWeight(gamma, norm=norm),
    "focal": lambda gamma, norm: FocalWeight(gamma),
    "dual_focal": lambda gamma, norm: DualFocalWeight(gamma),
    "tlbs": lambda gamma, norm: TopLabelBrierWeight(gamma),
    "flsd53": lambda gamma, norm: SampleDependentFocalWeight(),
    "cross_entropy": lambda gamma, norm: CrossEntropyWeight(),
}


def uncertainty_weight(name: str, gamma: float, norm: float) -> UncertaintyWeight:
    """The weight of this name; some have no use for the exponent or the norm."""
    return WEIGHTS[name](float(gamma), float(norm))
