"""Forward links: the raw output at which a posterior is stationary.

Conventions
-----------
The inverse of `inverse_links.field_log_posterior`: given ``log eta`` (n, K) up to a
constant of each row, find the raw output ``p`` with ``p_k / u(p, k)`` proportional to
``eta_k``. The weight is one that keeps the order of the classes, so the largest class,
here "top", is known. ``x_k = p_k / p_top`` is at most 1, and the sums over the other
classes are measured in units of the largest of them, so that nothing is lost where the
posterior is at one class. Inside, arrays are (K, n), so that work over few classes is
work over long rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .uncertainty_weights import UncertaintyWeight

# Newton's method from a start that is right at both ends: four steps are the rule.
_MAX_STEPS, _LONGEST_STEP = 50, 2.0
# After a step of this size the error is of the order of its square, and the derivative
# that of the point before, which is as near.
_SMALL_STEP = 1e-5
# A solver that moves the scores makes an error of the order of the square of the move
# itself; that of a step a tenth as long is lost in it, and both vanish at its end.
_SHARE_OF_MOVE = 0.1


class ForwardLink:
    """Raw logits of posterior scores, and their derivative; found in float64.

    Parameters
    ----------
    uncertainty : UncertaintyWeight
        One that is ``invertible``.
    scores : ndarray of shape (n, K)
        ``log eta`` up to a constant of each row.
    near : ForwardLink, default=None
        That of other scores of the same rows, from which to start.

    Attributes
    ----------
    raw_logits : ndarray of shape (n, K)
        ``log p`` up to a constant, 0 at the largest class.
    """

    def __init__(
        self,
        uncertainty: UncertaintyWeight,
        scores: NDArray,
        near: ForwardLink | None = None,
    ) -> None:
        self._gamma = uncertainty.gamma
        self._norm = uncertainty.norm_of_others(scores.shape[1])
        self._top = scores.argmax(axis=1), np.arange(len(scores))
        self._dtype = scores.dtype
        columns = np.ascontiguousarray(scores.T, dtype=np.float64)
        self._scores = columns - columns[self._top]
        rounding = np.finfo(np.float64).eps * np.abs(self._scores).max(initial=0.0)
        enough = max(_SMALL_STEP, 8 * rounding)
        if near is None:
            z = self._start(slice(None))
        else:
            z, moved = self._start_near(near)
            enough = max(enough, _SHARE_OF_MOVE * moved)
        for _ in range(_MAX_STEPS):
            step = self._solve(self._scores - self._linearise(z))
            longest = np.abs(step).max(axis=0)
            largest = longest.max(initial=0.0)
            if largest > _LONGEST_STEP:
                step *= np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1))
            z = np.minimum(z + step, 0)
            if largest <= enough:
                break
        self._z = z

    @property
    def raw_logits(self) -> NDArray:
        return self._z.T.astype(self._dtype, copy=False)

    def log_posterior(self, y: NDArray) -> NDArray:
        """``log eta_y`` (n,) for a class y of each row."""
        total = np.exp(self._scores).sum(axis=0)
        return self._scores[y, np.arange(len(y))] - np.log(total)

    def derivative(self, direction: NDArray) -> NDArray:
        """Change of the raw logits (n, K) for a change of the scores, first order."""
        columns = np.ascontiguousarray(direction.T)
        return self._solve(columns - columns[self._top]).T

    def _start_near(self, near: ForwardLink) -> tuple[NDArray, float]:
        """By the derivative, or anew where that leads far; and the longest move."""
        step = self._scores - near._scores
        step = near._solve(step - step[near._top])
        z = near._z + step
        z -= z[self._top]
        length = np.abs(step).max(axis=0)
        far = length > _LONGEST_STEP
        if far.any():
            z[:, far] = self._start(far)
        return np.minimum(z, 0), min(float(length.max(initial=0.0)), _LONGEST_STEP)

    def _start(self, rows: NDArray | slice) -> NDArray:
        """The shares of the others as they are, their odds as for two classes."""
        scores = self._scores[:, rows]
        top = self._top[0][rows], np.arange(scores.shape[1])
        others = scores.copy()
        others[top] = -np.inf
        largest = others.max(axis=0)
        log_odds = largest + np.log(np.exp(others - largest).sum(axis=0))
        z = scores - log_odds * (self._gamma / (1 + self._gamma))
        z[top] = 0.0
        return np.minimum(z, 0)

    def _linearise(self, z: NDArray) -> NDArray:
        """``log(p_k / u_k) - log(p_top / u_top)`` at ``z``; prepares `_solve`.

        With norm q, in units of p_top,
        ``u_k^(q / gamma) = (1 + X - x_k)^q + 1 + Q - x_k^q`` for the others and
        ``X^q + Q`` for the top, ``X = sum x_j`` and ``Q = sum x_j^q`` over the others.
        """
        gamma, q = self._gamma, self._norm
        shares = z.copy()
        shares[self._top] = -np.inf
        largest = shares.max(axis=0)
        unit = np.exp(largest)
        shares -= largest
        np.exp(shares, out=shares)  # x in units of the largest
        total = shares.sum(axis=0)
        x = shares * unit
        rest = (1 + total * unit) - x
        if q is None:
            log_u = gamma * np.log(rest)
            log_u_top = gamma * (largest + np.log(total))
            by_rest = gamma / rest
            slope = by_rest * x
            sums = [(shares, by_rest * unit - gamma / total)]
        else:
            powers = shares * shares if q == 2 else np.power(shares, q)
            power_unit = np.power(unit, q)
            total_power = powers.sum(axis=0)
            x_power = powers * power_unit
            before = rest if q == 2 else np.power(rest, q - 1)
            u = before * rest
            u -= x_power
            u += 1 + total_power * power_unit
            log_u = np.log(u)
            log_u *= gamma / q
            u_top = np.power(total, q) + total_power
            log_u_top = gamma * (largest + np.log(u_top) / q)
            by_power = gamma / u
            x *= before
            x += x_power
            slope = x
            slope *= by_power
            before = by_power * before
            before *= unit
            before -= gamma * np.power(total, q - 1) / u_top
            by_power *= power_unit
            by_power -= gamma / u_top
            sums = [(shares, before), (powers, by_power)]
        self._inverse_slope = 1 / (1 + slope)
        self._inverse_slope[self._top] = 0.0
        self._columns = [effect * self._inverse_slope for _, effect in sums]
        self._terms = [terms for terms, _ in sums]
        self._system = _inverse(
            [[_dots(terms, column) for column in self._columns] for terms, _ in sums]
        )
        log_u[self._top] = log_u_top
        return z - log_u + log_u_top

    def _solve(self, change: NDArray) -> NDArray:
        """Change of ``z`` for one of the scores, both 0 at the top.

        The matrix to be solved is diagonal but for its effect on one sum over the
        classes, or two: the unknowns of a small system for each row.
        """
        out = change * self._inverse_slope
        sums = [_dots(terms, out) for terms in self._terms]
        for column, row in zip(self._columns, self._system, strict=True):
            out += column * sum(a * b for a, b in zip(row, sums, strict=True))
        return out


def _dots(a: NDArray, b: NDArray) -> NDArray:
    return np.einsum("ji,ji->i", a, b)


def _inverse(matrix: list[list[NDArray]]) -> list[list[NDArray]]:
    """Inverse of the identity less the matrix, of size one or two, by rows."""
    if len(matrix) == 1:
        return [[1 / (1 - matrix[0][0])]]
    (a, b), (c, d) = matrix
    a, d = 1 - a, 1 - d
    determinant = a * d - b * c
    return [[d / determinant, b / determinant], [c / determinant, a / determinant]]
