"""Hard and soft membership in bins, and sums per bin.

The one binning that metrics, calibrators and pictures share.

Conventions
-----------
Edges are increasing and of shape (B + 1,). Bin b holds ``edges[b] < v <= edges[b+1]``,
the first bin its left edge too. Where edges coincide the first of the bins takes the
value and the others stay empty, so equal values are never split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def uniform_edges(n_bins: int) -> NDArray:
    """Edges ``b / B`` of equal-width bins of [0, 1]."""
    # A quotient and not a multiple of 1/B: b / B is the double nearest to what a
    # user writes as a decimal, so that 0.3 is the edge 3 / 10 itself.
    return np.arange(n_bins + 1) / n_bins


def equal_mass_edges(
    values: NDArray, n_bins: int, sample_weight: NDArray | None = None
) -> NDArray:
    """Edges that split ``values`` into ``n_bins`` bins of about equal weight.

    A value belongs to bin ``floor(B * (weight of all smaller values) / (all weight))``;
    hence equal values share a bin, integer weights are repetitions, and 7 distinct
    values fall into 3 bins as 3, 2, 2.
    """
    n = len(values)
    step = np.arange(1, n_bins)
    if sample_weight is None:
        ordered = np.sort(values)
        first = -((-step * n) // n_bins)  # ceil: the first value of each later bin
    else:
        order = np.argsort(values, kind="stable")
        ordered, weight = values[order], sample_weight[order]
        before = np.cumsum(weight, dtype=np.float64)
        # Scaled as integers would be, so that exact multiples compare as equal.
        target = step * before[-1] / n_bins
        first = 1 + np.searchsorted(before, target * (1 - 1e-14), side="left")
    inner = ordered[np.minimum(first - 1, n - 1)]
    low, high = min(0.0, float(ordered[0])), max(1.0, float(ordered[-1]))
    return np.concatenate([[low], inner.astype(np.float64), [high]])


def bin_index(values: NDArray, edges: NDArray) -> NDArray:
    """Bin of each value, closed on the right; values outside go to the end bins.

    Edges are rounded to the values' dtype first: 0.3 in float32 lies on the edge 0.3
    and not above it.
    """
    return np.searchsorted(edges[1:-1].astype(values.dtype), values, side="left")


def bin_sums(
    index: NDArray,
    n_bins: int,
    *columns: NDArray,
    sample_weight: NDArray | None = None,
) -> NDArray:
    """Weight in each bin and weighted sums of ``columns``, (1 + n_columns, B)."""
    sums = np.empty((1 + len(columns), n_bins))
    sums[0] = np.bincount(index, weights=sample_weight, minlength=n_bins)
    for row, column in zip(sums[1:], columns, strict=True):
        weighted = column if sample_weight is None else column * sample_weight
        row[:] = np.bincount(index, weights=weighted, minlength=n_bins)
    return sums


def uniform_centres(n_bins: int) -> NDArray:
    """Centres ``(b + 1/2) / B`` of equal-width bins of [0, 1]."""
    return (np.arange(n_bins) + 0.5) / n_bins


def quantile_centres(
    values: NDArray, n_bins: int, sample_weight: NDArray | None = None
) -> NDArray:
    """Centres at the quantiles ``(b + 1/2) / B`` of ``values`` (inverted CDF)."""
    order = np.argsort(values, kind="stable")
    weight = np.ones(len(values)) if sample_weight is None else sample_weight[order]
    upto = np.cumsum(weight, dtype=np.float64)
    target = uniform_centres(n_bins) * upto[-1]
    at = np.searchsorted(upto, target * (1 - 1e-14), side="left")
    return values[order[np.minimum(at, len(values) - 1)]].astype(np.float64)


def soft_membership(confidence: NDArray, centres: NDArray, bandwidth: float) -> NDArray:
    """Gaussian membership of each confidence in each bin, (n, B), rows sum to 1.

    ``w_ib`` is proportional to ``exp(-((c_i - m_b) / bandwidth)^2 / 2)``.
    """
    weight = confidence[:, None] - centres
    weight *= weight
    # The nearest centre gets exp(0): no row can underflow as a whole.
    weight -= weight.min(axis=1, keepdims=True)
    weight *= -0.5 / bandwidth**2
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight


class DirectSoftBins:
    """Soft memberships of given confidences: sums per bin, and functions by bin."""

    def __init__(self, confidence: NDArray, centres: NDArray, bandwidth: float) -> None:
        self.centres = centres
        self.bandwidth = bandwidth
        self.member = soft_membership(confidence, centres, bandwidth)

    def sums(self, weight: NDArray) -> NDArray:
        """``sum_i weight_i w_ib`` for each bin, (B,)."""
        return weight @ self.member

    def mix(self, per_bin: NDArray) -> tuple[NDArray, NDArray]:
        """``f(c_i) = sum_b per_bin_b w_ib`` and its derivative in ``c_i``, (n,)."""
        # w'_ib = w_ib (m_b - mean of m under w_i) / bandwidth^2
        columns = np.stack([self.centres, per_bin, self.centres * per_bin], axis=1)
        mean, value, moment = (self.member @ columns).T
        return value, (moment - mean * value) / self.bandwidth**2


class SoftBinTable:
    """Soft memberships on a grid of confidences, cubic in between.

    Sums over samples of functions of the confidence, and functions that are weighted
    sums over bins, then cost a few operations per sample instead of B exponentials.
    With `_CELLS` cells per bandwidth the memberships are off by less than 1e-8.

    Parameters
    ----------
    centres : ndarray of shape (B,)
    bandwidth : float
    """

    _CELLS = 50

    def __init__(self, centres: NDArray, bandwidth: float) -> None:
        self.n_cells = self.cells(bandwidth)
        grid = np.arange(self.n_cells + 1) / self.n_cells
        self.member = soft_membership(grid, centres, bandwidth)
        mean = self.member @ centres
        # Derivative per cell: w'_b = w_b (m_b - mean of m under w) / bandwidth^2.
        rate = (centres - mean[:, None]) / (bandwidth**2 * self.n_cells)
        self.change = self.member * rate

    @classmethod
    def cells(cls, bandwidth: float) -> int:
        """Number of cells of the grid that a bandwidth needs."""
        return int(np.ceil(cls._CELLS / min(bandwidth, 1.0)))

    def place(self, confidence: NDArray) -> SoftBinPlaces:
        """The confidences' places in the grid."""
        return SoftBinPlaces(self, confidence)


class SoftBinPlaces:
    """Confidences placed in the cells of a `SoftBinTable`."""

    def __init__(self, table: SoftBinTable, confidence: NDArray) -> None:
        self.table = table
        t = confidence * table.n_cells
        cell = np.minimum(t.astype(np.intp), table.n_cells - 1)
        t -= cell
        self.t, self.cell, self.rest = t, cell, 1 - t
        upper = t * t * (3 - 2 * t)
        inner = t * self.rest
        self.basis = (1 - upper, inner * self.rest, upper, -inner * t)

    def sums(self, weight: NDArray) -> NDArray:
        """``sum_i weight_i w_ib`` for each bin, (B,)."""
        size = self.table.n_cells
        at = np.zeros((2, size + 1))
        for order, basis in enumerate(self.basis):
            part = np.bincount(self.cell, weight * basis, minlength=size)
            right = order >= 2
            at[order % 2, right : size + right] += part
        return at[0] @ self.table.member + at[1] @ self.table.change

    def mix(self, per_bin: NDArray) -> tuple[NDArray, NDArray]:
        """``f(c_i) = sum_b per_bin_b w_ib`` and its derivative in ``c_i``, (n,)."""
        value = self.table.member @ per_bin
        slope = self.table.change @ per_bin
        v0, s0 = value[self.cell], slope[self.cell]
        v1, s1 = value[1:][self.cell], slope[1:][self.cell]
        b0, b1, b2, b3 = self.basis
        t, rest = self.t, self.rest
        derivative = 6 * t * rest * (v1 - v0)
        derivative += s0 * rest * (1 - 3 * t) + s1 * t * (3 * t - 2)
        derivative *= self.table.n_cells
        return b0 * v0 + b1 * s0 + b2 * v1 + b3 * s1, derivative
