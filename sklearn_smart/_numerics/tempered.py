"""Logits as functions of an inverse temperature, one curve per row.

Everything that calibration by temperature asks of a row of logits z with label y is

- ``L(beta) = log sum_j exp(beta (z_j - max z))``, convex and decreasing in
  ``beta = 1 / T``, with slope ``L'(beta) = E_p[z - max z]``,
- ``gap = max z - z_y``, the distance of the label's logit from the top,
- ``correct``, whether the predicted class is the label:

``-log p_y = L + beta gap``; the confidence is ``exp(-L)``; and
``sum_j p_j^2 = exp(L(2 beta) - 2 L(beta))`` gives the Brier score. Losses therefore
see a batch as a `Tempered` and return gradients of shape (n,), whatever K is.

`TemperedLogits` evaluates the curves from the logits, a pass over (n, K) each time.
`CurveTable` holds them at a few inverse temperatures and interpolates between these,
so that a fit of a hundred steps costs about as much as two passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .logits import row_blocks, top_two


class Rows(Protocol):
    """What a loss needs to know of the rows of a calibration set."""

    gap: NDArray
    correct: NDArray

    def log_partition(self, beta: NDArray) -> tuple[NDArray, NDArray]: ...


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

    def every(self, step: int) -> TemperedLogits:
        """Every ``step``-th row, as views."""
        part = object.__new__(TemperedLogits)
        for name in ("logits", "top", "runner_up", "gap", "correct"):
            setattr(part, name, getattr(self, name)[::step])
        return part

    @property
    def margin(self) -> NDArray:
        """Distance of a row's runner-up from its top logit, float64 (n,)."""
        return (self.top - self.runner_up).astype(np.float64)

    def mean_gap(self) -> NDArray:
        """Mean distance of a row's logits from its top one, (n,)."""
        return self.top - self.logits.mean(axis=1, dtype=np.float64)

    def at(self, beta: NDArray | float) -> Tempered:
        """The batch at inverse temperatures ``beta``, of shape (n,) or ()."""
        return Tempered(self, np.broadcast_to(np.float64(beta), self.top.shape))

    def log_partition(
        self, beta: NDArray, index: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """``L`` and its derivative at one ``beta`` per row, both float64 (n,).

        ``index`` selects and orders the rows, as in `curve`.
        """
        value, slope, _ = self.curve(beta, index)
        return value, slope

    def curve(
        self, beta: NDArray, index: NDArray | None = None
    ) -> tuple[NDArray, NDArray, NDArray]:
        """``L``, ``L'`` and ``L''`` at one ``beta`` per row, float64 (n,) each.

        ``index`` selects and orders the rows.
        """
        value, slope, bend = np.empty((3, len(beta)))
        factor = np.asarray(beta, dtype=self.logits.dtype)[:, None]
        with np.errstate(under="ignore"):
            for rows, scaled in self.gap_blocks(index):
                scaled *= factor[rows]
                moments = _moments(np.exp(scaled), scaled)
                value[rows], slope[rows], bend[rows] = moments
        slope /= beta
        bend /= np.square(beta)
        return value, slope, bend

    def gap_blocks(
        self, index: NDArray | None = None
    ) -> Iterator[tuple[slice | NDArray, NDArray]]:
        """Blocks of ``z - max z``, new arrays, with their places in ``index``.

        Rows are read in the order in which they are stored, whatever that of ``index``
        is: a memory-mapped file is read from its begin to its end.
        """
        if index is None:
            for rows in row_blocks(*self.logits.shape):
                yield rows, self.logits[rows] - self.top[rows, None]
            return
        stored = np.argsort(index)
        for rows in row_blocks(len(index), self.logits.shape[1]):
            place = stored[rows]
            at = index[place]
            yield place, self.logits[at] - self.top[at, None]

    def tabulate(
        self,
        centre: float,
        octaves: tuple[int, int] = (2, 2),
        order: NDArray | None = None,
    ) -> CurveTable:
        """The curves from ``centre * 2^-octaves[0]`` to ``centre * 2^octaves[1]``.

        ``order`` selects and orders the rows; by default they are all taken as they
        are.
        """
        return CurveTable(self, centre, octaves, order)


def _moments(terms: NDArray, scaled: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Log of the sum of ``terms``; weighted by them, mean and variance of scaled."""
    total = terms.sum(axis=1, dtype=np.float64)
    product = terms * scaled
    mean = product.sum(axis=1, dtype=np.float64) / total
    square = np.einsum("ij,ij->i", product, scaled).astype(np.float64) / total
    return np.log(total), mean, np.maximum(square - mean * mean, 0.0)


# Nodes per doubling of beta. With value, slope and curvature at each node the quintic
# between two of them is off by 1e-6 to 3e-4, depending on K; `anchor` removes that
# error where it matters.
_NODES_PER_OCTAVE = 2


class CurveTable:
    """The curves at nodes equally spaced in ``log beta``, quintic in between.

    A table is made in one pass over the logits. Most exponentials are had by squaring:
    ``exp(2 beta d) = exp(beta d)^2``. A request outside the nodes extends the table by
    another pass.

    Parameters
    ----------
    source : TemperedLogits
        The rows.
    centre : float
        Inverse temperature around which the nodes lie.
    octaves : pair of int
        Doublings of ``beta`` covered below and above ``centre``.
    order : ndarray of int, default=None
        Rows of the source that this table is about, in this order.
    """

    def __init__(
        self,
        source: TemperedLogits,
        centre: float,
        octaves: tuple[int, int],
        order: NDArray | None = None,
    ) -> None:
        self.source = source
        self.centre = centre
        self.order = order
        self.gap = source.gap if order is None else source.gap[order]
        self.correct = source.correct if order is None else source.correct[order]
        self._defect: tuple[NDArray, NDArray, NDArray] | None = None
        below, above = (_NODES_PER_OCTAVE * count for count in octaves)
        self.octaves = octaves
        self.nodes = self._tabulate(-below, above + 1)

    def __len__(self) -> int:
        return len(self.gap)

    def take(self, index: NDArray) -> CurveTable:
        """A table of some of the rows, in the given order, without a new pass."""
        part = object.__new__(CurveTable)
        part.source, part.centre, part.octaves = self.source, self.centre, self.octaves
        part.gap, part.correct = self.gap[index], self.correct[index]
        part.order = index if self.order is None else self.order[index]
        part.nodes = np.ascontiguousarray(self.nodes[:, :, index])
        part._defect = None
        return part

    def anchor(self, beta: NDArray) -> None:
        """Make value and slope exact at ``beta``, (n,), by one pass over the logits.

        What the interpolation misses there is added everywhere, linearly in
        ``log beta``: a fit that goes on from ``beta`` ends where one on the exact
        curves would.
        """
        self._defect = None
        value, slope = self.log_partition(beta)
        exact, exact_slope = self.source.log_partition(beta, self.order)
        self._defect = (
            np.log(beta),
            exact - value,
            (exact_slope - slope) * beta,
        )

    @property
    def anchored(self) -> bool:
        """Whether `anchor` was called."""
        return self._defect is not None

    def at(self, beta: NDArray | float) -> Tempered:
        """The batch at inverse temperatures ``beta``, of shape (n,) or ()."""
        return Tempered(self, np.broadcast_to(np.float64(beta), self.gap.shape))

    def log_partition(self, beta: NDArray) -> tuple[NDArray, NDArray]:
        """``L`` and its derivative at one ``beta`` per row, both float64 (n,)."""
        position = np.log2(beta / self.centre)
        self._cover(position.min(), position.max())
        position += self.octaves[0]
        position *= _NODES_PER_OCTAVE
        n_nodes = self.nodes.shape[1]
        cell = np.minimum(position.astype(np.intp), n_nodes - 2)
        t = position
        t -= cell
        at = cell
        at *= len(self)
        at += np.arange(len(self))
        v0, d0, c0 = (node.ravel().take(at) for node in self.nodes)
        at += len(self)
        v1, d1, c1 = (node.ravel().take(at) for node in self.nodes)
        # Hermite data to the coefficients of a quintic in t.
        c0 *= 0.5
        rise = v1 - v0 - d0 - c0
        turn = d1 - d0 - 2 * c0
        bend = 0.5 * c1 - c0
        a3 = 10 * rise - 4 * turn + bend
        a4 = -15 * rise + 7 * turn - 2 * bend
        a5 = 6 * rise - 3 * turn + bend
        value = v0 + t * (d0 + t * (c0 + t * (a3 + t * (a4 + t * a5))))
        slope = d0 + t * (2 * c0 + t * (3 * a3 + t * (4 * a4 + t * (5 * a5))))
        slope *= _NODES_PER_OCTAVE / np.log(2)
        if self._defect is not None:
            anchor, offset, tilt = self._defect
            value += offset + tilt * (np.log(beta) - anchor)
            slope += tilt
        slope /= beta
        return value, slope

    def _cover(self, low: float, high: float) -> None:
        """Extend the table to the octaves from ``low`` to ``high``."""
        below, above = self.octaves
        lower, upper = max(below, int(np.ceil(-low))), max(above, int(np.ceil(high)))
        if lower > below or upper > above:
            first, end = -_NODES_PER_OCTAVE * below, _NODES_PER_OCTAVE * above + 1
            more_below = self._tabulate(-_NODES_PER_OCTAVE * lower, first)
            more_above = self._tabulate(end, _NODES_PER_OCTAVE * upper + 1)
            self.nodes = np.concatenate([more_below, self.nodes, more_above], axis=1)
            self.octaves = lower, upper

    def _tabulate(self, first: int, end: int) -> NDArray:
        """Nodes from ``first`` up to ``end``, counted from the centre.

        Of each row the value and its two derivatives per step of the node index,
        (3, end - first, n).
        """
        n_nodes = end - first
        nodes = np.empty((3, n_nodes, len(self)))
        if not n_nodes:
            return nodes
        with np.errstate(under="ignore"):
            for rows, gaps in self.source.gap_blocks(self.order):
                for phase in range(min(_NODES_PER_OCTAVE, n_nodes)):
                    start = self.centre * 2.0 ** ((first + phase) / _NODES_PER_OCTAVE)
                    scaled = gaps * gaps.dtype.type(start)
                    terms = np.exp(scaled)
                    for node in range(phase, n_nodes, _NODES_PER_OCTAVE):
                        if node > phase:
                            terms *= terms
                            scaled *= 2
                        nodes[:, node, rows] = _moments(terms, scaled)
        # d/du and d2/du2 of L in u = log beta, then per node step.
        step = np.log(2) / _NODES_PER_OCTAVE
        nodes[2] += nodes[1]
        nodes[1] *= step
        nodes[2] *= step**2
        return nodes


@dataclass(frozen=True)
class Tempered:
    """Rows at given inverse temperatures: what a calibration loss sees."""

    rows: Rows
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
