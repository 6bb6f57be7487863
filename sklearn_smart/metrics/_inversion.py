"""Intervals for norms of gaps, by inverting tests.

Let d be the observed vector of gaps, e its sampling noise as the bootstrap gives it,
and T the norm. A percentile interval fails where the true gaps are near 0: T(d + e) is
then larger than T(d), which is larger than the norm of the true gaps. Instead, the
true gaps are taken to be ``t v`` with the direction v of the observed gaps, freed of
noise, and an unknown length t >= 0; the interval holds the norms ``T(t v)`` of all
lengths for which the observed T(d) is not in a tail of the distribution of
``T(t v + e)``. For t = 0, calibration, that is the exact null distribution of e.
"""

from __future__ import annotations

import numpy as np

_N_LENGTHS = 61
_MOST_DOUBLINGS = 12


class Lengths:
    """Observed norm, and the norms that lengths of the true gaps would give.

    Parameters
    ----------
    gaps : Gaps
        The functional.

    observed : ndarray of shape (m,)
        Mean gaps.

    noise : ndarray of shape (n_resamples, m)
        Sampling noise of the mean gaps.

    tail : float
        Lengths are of interest where neither tail is smaller than this.
    """

    def __init__(self, gaps, observed, noise, tail):
        self.gaps, self.noise, self.tail = gaps, noise, tail
        self.observed = float(gaps.value(observed))
        self.direction = _direction(gaps, observed, noise)
        low, high = self._range()
        self.lengths = np.linspace(low, high, _N_LENGTHS)
        self.norms = gaps.value(self.lengths[:, None] * self.direction)
        self.replicates = np.stack([self.at(t) for t in self.lengths])

    def at(self, length):
        """Norms that would be observed at a length, (n_resamples,)."""
        return self.gaps.value(length * self.direction + self.noise)

    def tails(self, replicates):
        """Shares of replicates at or above, and at or below, the observed norm."""
        n = replicates.shape[-1]
        close = 1e-12 + 1e-9 * abs(self.observed)
        above = (replicates >= self.observed - close).sum(axis=-1)
        below = (replicates <= self.observed + close).sum(axis=-1)
        return (above + 1) / (n + 1), (below + 1) / (n + 1)

    def _range(self):
        """Lengths between which neither tail is too small."""
        high = 1.0
        for _ in range(_MOST_DOUBLINGS):
            if self.tails(self.at(high))[1] < self.tail:
                break
            high *= 2
        low = 0.0
        if self.tails(self.at(low))[0] >= self.tail:
            return low, self._edge(low, high, 1)
        # The norm of no length at all is too small: search from both sides.
        return self._edge(high, low, 0), self._edge(low, high, 1)

    def _edge(self, inside, outside, which):
        """The length at which a tail reaches its limit, by halving."""
        for _ in range(12):
            middle = (inside + outside) / 2
            if self.tails(self.at(middle))[which] >= self.tail:
                inside = middle
            else:
                outside = middle
        return inside


def norm_interval(gaps, observed, noise, alpha):
    """Limits of the norm of the true gaps, each with an error of ``alpha / 2``."""
    lengths = Lengths(gaps, observed, noise, alpha / 2)
    return float(lengths.norms.min()), float(lengths.norms.max())


def difference_interval(first, second, alpha):
    """Limits and p-value of the difference of the norms of two vectors of gaps.

    ``first`` and ``second`` are :class:`Lengths` with noise of the same replicates. A
    pair of lengths is in the interval where the observed difference of norms is not in
    a tail of the differences that it would give.
    """
    observed = first.observed - second.observed
    low, high, p_value = np.inf, -np.inf, 0.0
    for norm, replicates in zip(first.norms, first.replicates, strict=True):
        other = replicates - second.replicates
        above, below = _tails(other, observed)
        inside = np.minimum(above, below) >= alpha / 2
        if inside.any():
            differences = norm - second.norms[inside]
            low = min(low, differences.min())
            high = max(high, differences.max())
        # The pair of lengths of equal norms that is nearest.
        nearest = int(np.abs(second.norms - norm).argmin())
        if second.norms.min() <= norm <= second.norms.max():
            p_value = max(p_value, 2 * min(above[nearest], below[nearest]))
    if low > high:
        low = high = observed
    return float(low), float(high), float(min(p_value, 1.0))


def _tails(replicates, observed):
    n = replicates.shape[-1]
    above = ((replicates >= observed - 1e-12).sum(axis=-1) + 1) / (n + 1)
    below = ((replicates <= observed + 1e-12).sum(axis=-1) + 1) / (n + 1)
    return above, below


def _direction(gaps, observed, noise):
    """The observed gaps, freed of noise as far as they resemble each other.

    The mean gaps within bins, ``r_b = d_b / mass_b``, are shrunk towards their common
    mean by the share of noise in their spread (DerSimonian and Laird's estimate).
    """
    filled = gaps.mass > 0
    mass = gaps.mass[filled]
    mean = observed[filled] / mass
    variance = np.mean(noise[:, filled] ** 2, axis=0) / mass**2
    variance = np.maximum(variance, 1e-300)
    centre, spread = _centre_and_spread(mean, variance)
    kept = centre + spread / (spread + variance) * (mean - centre)
    direction = np.zeros(len(observed))
    direction[filled] = mass * kept
    if not direction.any():
        direction[filled] = np.sqrt(variance) * mass
    return direction


def _centre_and_spread(mean, variance):
    """Common mean, and the variance between bins beyond that of noise."""
    weight = 1 / variance
    centre = (weight @ mean) / weight.sum()
    excess = weight @ (mean - centre) ** 2 - (len(mean) - 1)
    scale = weight.sum() - (weight @ weight) / weight.sum()
    spread = max(excess / scale, 0.0) if scale > 0 else 0.0
    weight = 1 / (variance + spread)
    return (weight @ mean) / weight.sum(), spread
