"""Calibration error with as many bins as keep the frequencies monotone."""

from __future__ import annotations

import numpy as np

from sklearn_smart._numerics.bins import uniform_edges

from ._binned import KINDS, STRATEGIES, BinSums, over_events
from ._expected_calibration_error import NORMS, error_norm
from ._inputs import check_option, check_prediction

# More bins are not tried: each number of bins costs as many operations as it has.
MAX_BINS = 10_000


def sweep_calibration_error(
    y_true,
    y_prob,
    *,
    strategy="quantile",
    norm="l1",
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Expected calibration error with a swept number of bins; in [0, 1], 0 is best.

    The number of bins is the largest B for which, with 1, 2, ..., B bins alike, the
    frequency of the event does not fall from one bin to the next (empty bins are left
    out), at most 10,000 and at most the number of distinct probabilities for bins of
    equal weight. A true calibration curve rises, so bins that do not are too small.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal weight, or of equal width.

    norm : {"l1", "l2", "max"}, default="l1"
        How the gaps of the bins become one number, as in
        :func:`expected_calibration_error`.

    kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
        The event: the predicted class is the true one; each class is, in turn, and
        the mean over classes is taken; or ``pos_label`` is.

    pos_label : int, float, bool or str, default=None
        The class of ``kind="positive_class"``; None is the second of two labels.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    float
        Lower is better.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    R. Roelofs, N. Cain, J. Shlens, M. C. Mozer, "Mitigating Bias in Calibration Error
    Estimation", AISTATS 2022, arXiv:2012.08668.

    Examples
    --------
    >>> from sklearn_smart.metrics import sweep_calibration_error
    >>> y_true, y_prob = [0, 1, 0, 1], [0.6, 0.7, 0.8, 0.9]
    >>> round(sweep_calibration_error(y_true, y_prob, kind="positive_class"), 3)
    0.25
    """
    check_option(strategy, "strategy", STRATEGIES)
    check_option(norm, "norm", NORMS)
    check_option(kind, "kind", KINDS)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return over_events(
        prediction, kind, pos_label, lambda events: sweep_error(events, strategy, norm)
    )


def sweep_error(events, strategy="quantile", norm="l1"):
    """The error of one event."""
    values, sums = _distinct_sums(events)
    before = np.hstack([np.zeros((3, 1)), np.cumsum(sums, axis=1)])
    best = None
    for n_bins in range(1, _most_bins(values, before, strategy) + 1):
        first = _first_of_bins(values, before[0], n_bins, strategy)
        bins = BinSums(*np.diff(before[:, first], axis=1))
        filled = bins.weight > 0
        frequency = bins.outcome[filled] / bins.weight[filled]
        if (np.diff(frequency) < -1e-12).any():
            break
        best = bins
    return error_norm(best, norm)


def _distinct_sums(events):
    """Distinct probabilities in order, and weight, probability and outcome of each."""
    order = np.argsort(events.prob, kind="stable")
    prob = events.prob[order].astype(np.float64)
    weight = events.sample_weight
    weight = np.ones(len(order)) if weight is None else weight[order]
    start = np.flatnonzero(np.r_[True, prob[1:] != prob[:-1]])
    columns = np.stack([weight, weight * prob, weight * events.outcome[order]])
    return events.prob[order[start]], np.add.reduceat(columns, start, axis=1)


def _most_bins(values, before, strategy):
    """No more bins than this can be told apart, or need to be tried."""
    if strategy == "quantile":
        return min(MAX_BINS, len(values))
    return MAX_BINS


def _first_of_bins(values, before, n_bins, strategy):
    """Index of the first distinct value of each bin, and the end, (n_bins + 1,)."""
    if strategy == "uniform":
        edges = uniform_edges(n_bins)
        inner = np.searchsorted(values, edges[1:-1].astype(values.dtype), "right")
    else:
        # A value belongs to bin floor(B * weight before it / all weight).
        target = np.arange(1, n_bins) * before[-1] / n_bins
        inner = np.searchsorted(before[:-1], target * (1 - 1e-14), "left")
    return np.concatenate([[0], inner, [len(values)]]).astype(np.intp)
