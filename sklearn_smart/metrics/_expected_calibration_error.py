"""Expected calibration error: binned distance of probability and frequency."""

from __future__ import annotations

import numpy as np

from ._binned import (
    KINDS,
    check_binning,
    edges_for,
    one_event,
    sum_classes,
    sum_events,
)
from ._inputs import check_option, check_prediction

NORMS = ("l1", "l2", "max")


def expected_calibration_error(
    y_true,
    y_prob,
    *,
    n_bins=15,
    strategy="uniform",
    norm="l1",
    debias=False,
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Expected calibration error (ECE); 0 is best, 1 is worst.

    Events of predicted probability v are put into bins. With W_b the share of the
    weight in bin b, and ``gap_b`` the mean probability minus the frequency of the
    event there,

    - ``norm="l1"``: ``sum_b W_b |gap_b|`` (the usual ECE),
    - ``norm="l2"``: ``sqrt(sum_b W_b gap_b ** 2)``,
    - ``norm="max"``: ``max_b |gap_b|`` over the bins that are not empty (the
      maximum calibration error).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    n_bins : int, default=15
        Number of bins.

    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight. Bins are closed on the right and the
        first also holds 0. Equal probabilities are never split over two bins of equal
        weight.

    norm : {"l1", "l2", "max"}, default="l1"
        How the gaps of the bins become one number.

    debias : bool, default=False
        For ``norm="l2"`` only: subtract from ``gap_b ** 2`` an unbiased estimate of
        its sampling variance, ``f_b (1 - f_b) / (n_b - 1)`` with f_b the frequency
        and n_b the weight of bin b; bins of weight up to 1 count 0, and so does a
        negative total.

    kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
        Which event is meant.

        - "top_label": the predicted class is the true one. Also the default for two
          classes, where the confidence is ``max(p, 1 - p)``.
        - "class_wise": each class in turn is the true one. The classes count alike:
          the norm is taken over pairs of class and bin of weight ``W_kb / K``, so
          that "l1" is the mean over classes and "l2" the root of the mean square.
        - "positive_class": ``pos_label`` is the true one.

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
        Lower is better. The ECE of true probabilities is above 0 in a finite sample.

    Raises
    ------
    ValueError
        If a parameter is outside its range; if the input is empty, of different
        lengths, NaN, outside [0, 1] or not summing to 1; if ``y_true`` holds a label
        that no column has; if a weight is negative or all are 0.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On Calibration of Modern Neural
    Networks", ICML 2017, arXiv:1706.04599.
    A. Kumar, P. Liang, T. Ma, "Verified Uncertainty Calibration", NeurIPS 2019,
    arXiv:1909.10155 (the L2 norm, its debiasing, and classes counted alike).

    Examples
    --------
    >>> from sklearn_smart.metrics import expected_calibration_error
    >>> y_prob = [0.35, 0.65]
    >>> round(expected_calibration_error([0, 0], y_prob, n_bins=10), 4)
    0.15
    >>> expected_calibration_error([0, 0], y_prob, n_bins=10, kind="positive_class")
    0.5
    """
    check_error_options(n_bins, strategy, norm, debias, kind)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return binned_error(prediction, n_bins, strategy, norm, debias, kind, pos_label)


def check_error_options(n_bins, strategy, norm, debias, kind):
    """Check the parameters that say which error is meant."""
    check_binning(n_bins, strategy)
    check_option(norm, "norm", NORMS)
    check_option(kind, "kind", KINDS)
    if not isinstance(debias, bool | np.bool_):
        raise ValueError(
            f"The 'debias' parameter must be a bool. Got {debias!r} instead."
        )
    if debias and norm != "l2":
        raise ValueError(f"debias=True is defined for norm='l2' only. Got {norm!r}.")


def binned_error(prediction, n_bins, strategy, norm, debias, kind, pos_label):
    """The error of a checked prediction."""
    if kind == "class_wise":
        sums = sum_classes(prediction, n_bins, strategy)
    else:
        events = one_event(prediction, kind, pos_label)
        sums = sum_events(events, edges_for(events, n_bins, strategy))
    return debiased_error(sums) if debias else error_norm(sums, norm)


def error_norm(sums, norm):
    """The norm of the gaps in :class:`BinSums` of one event, or of K events."""
    filled = sums.weight > 0
    weight, gap = sums.weight[filled], np.abs(sums.gap[filled])
    if norm == "max":
        return float((gap / weight).max())
    if norm == "l1":
        return float(gap.sum() / weight.sum())
    return float(np.sqrt((gap * (gap / weight)).sum() / weight.sum()))


def debiased_error(sums):
    """The L2 norm without what the sampling of outcomes alone adds to its square."""
    counted = sums.weight > 1
    weight = sums.weight[counted]
    frequency = sums.outcome[counted] / weight
    square = (sums.gap[counted] / weight) ** 2
    square -= frequency * (1 - frequency) / (weight - 1)
    return float(np.sqrt(max((weight * square).sum() / sums.weight.sum(), 0.0)))
