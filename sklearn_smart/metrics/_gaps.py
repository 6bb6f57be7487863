"""Binned errors as norms of a vector of mean gaps, for intervals.

A binned error is a norm of the vector d of mean gaps, one entry a bin (or bin and
class): ``d = (1/n) sum_i x_i``, where the row x_i of a sparse matrix holds what sample
i adds to each bin. The sampling of d is regular, that of its norm is not: where the
true gaps are near 0 the norm of d is far above the norm of the true gaps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sklearn_smart._numerics.bins import (
    bin_index,
    quantile_centres,
    soft_membership,
    uniform_centres,
)

from ._binned import class_events, edges_for, one_event


class Gaps(NamedTuple):
    """Contributions of samples to the gaps of bins.

    Attributes
    ----------
    rows : sparse array of shape (n, m)
        What each sample adds to each gap.

    mass : ndarray of shape (m,)
        Share of the weight in each bin.

    norm : str
        "l1", "l2" or "max"; "charbonnier" for soft bins.

    scale : float
        What the gaps of one event are multiplied by: 1 / K for K classes.

    smoothing : float
        Smoothing of the "charbonnier" norm.
    """

    rows: sparse.csr_array
    mass: np.ndarray
    norm: str
    scale: float = 1.0
    smoothing: float = 0.0

    def value(self, gap):
        """The norm of gaps of shape (..., m)."""
        if self.norm == "l1":
            return self.scale * np.abs(gap).sum(axis=-1)
        if self.norm == "charbonnier":
            return self.scale * np.hypot(gap, self.smoothing * self.mass).sum(axis=-1)
        filled = self.mass > 0
        gap, mass = gap[..., filled], self.mass[filled]
        if self.norm == "max":
            return np.abs(gap / mass).max(axis=-1)
        return np.sqrt(self.scale * (gap**2 / mass).sum(axis=-1))


def binned_gaps(
    prediction,
    *,
    n_bins=15,
    strategy="uniform",
    norm="l1",
    debias=False,
    kind="top_label",
    pos_label=None,
):
    """:class:`Gaps` of an expected calibration error; ``debias`` changes nothing."""
    blocks = [
        _binned_rows(
            events, bin_index(events.prob, edges_for(events, n_bins, strategy))
        )
        for events in _events(prediction, kind, pos_label)
    ]
    return _stack(blocks, prediction, n_bins, norm)


def soft_gaps(
    prediction,
    *,
    n_bins=15,
    bandwidth=0.05,
    smoothing=0.0,
    strategy="uniform",
    kind="top_label",
    pos_label=None,
):
    """:class:`Gaps` of a soft calibration error."""
    blocks = []
    for events in _events(prediction, kind, pos_label):
        prob = events.prob.astype(np.float64)
        centres = (
            uniform_centres(n_bins)
            if strategy == "uniform"
            else quantile_centres(prob, n_bins, events.sample_weight)
        )
        member = soft_membership(prob, centres, bandwidth)
        gap = prob - events.outcome
        blocks.append((sparse.csr_array(member * gap[:, None]), member))
    norm = "charbonnier" if smoothing else "l1"
    return _stack(blocks, prediction, n_bins, norm)._replace(smoothing=smoothing)


def _events(prediction, kind, pos_label):
    if kind != "class_wise":
        return [one_event(prediction, kind, pos_label)]
    return [class_events(prediction, k) for k in range(prediction.n_classes)]


def _binned_rows(events, index):
    gap = events.prob - events.outcome.astype(np.float64)
    return gap, index


def _stack(blocks, prediction, n_bins, norm):
    """One matrix from the blocks of all events, side by side."""
    n = prediction.n_samples
    weight = prediction.sample_weight
    weight = np.ones(n) if weight is None else weight
    parts, masses = [], []
    for first, second in blocks:
        if sparse.issparse(first):
            part, mass = first, weight @ second
        else:
            columns = (first, second, np.arange(n + 1))
            part = sparse.csr_array(columns, shape=(n, n_bins))
            mass = np.bincount(second, weights=weight, minlength=n_bins)
        parts.append(part)
        masses.append(mass / weight.sum())
    rows = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
    return Gaps(rows, np.concatenate(masses), norm, scale=1 / len(blocks))
