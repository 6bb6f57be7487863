"""Expected calibration error with soft bins, as the calibrators minimise it."""

from __future__ import annotations

import numbers

import numpy as np

from sklearn_smart._numerics.bins import (
    quantile_centres,
    soft_membership,
    uniform_centres,
)

from ._binned import KINDS, check_binning, over_events
from ._inputs import check_option, check_prediction

# Values of a block of memberships: 256 KiB of float64.
_BLOCK_SIZE = 32_768


def soft_calibration_error(
    y_true,
    y_prob,
    *,
    n_bins=15,
    bandwidth=0.05,
    smoothing=0.0,
    strategy="uniform",
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """SoftECE, or Charbonnier-SoftECE for ``smoothing > 0``; 0 is best.

    Each event of probability v belongs to every bin b of centre m_b with a share
    proportional to ``exp(-((v - m_b) / bandwidth) ** 2 / 2)``. With M_b the mass of
    bin b and s_b the sum of probability minus outcome there,

    ``(1/n) sum_b sqrt(s_b ** 2 + (smoothing * M_b) ** 2)``.

    It lies between the SoftECE, ``smoothing=0``, and that plus ``smoothing``, and
    is the objective of :class:`~sklearn_smart.SMARTCalibrator` for 0.001.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    n_bins : int, default=15
        Number of bins.

    bandwidth : float, default=0.05
        Width of the memberships, > 0, in units of probability.

    smoothing : float, default=0.0
        Smoothing of the absolute value, >= 0.

    strategy : {"uniform", "quantile"}, default="uniform"
        Centres ``(b + 1/2) / n_bins``, or at those quantiles of the probabilities.

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
        Lower is better; in [0, 1 + smoothing].

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    A. Karandikar et al., "Soft Calibration Objectives for Neural Networks", NeurIPS
    2021, arXiv:2108.00106.
    SMART: Sample Margin-Aware Recalibration of Temperature, ICML 2026,
    arXiv:2506.23492 (the Charbonnier form).

    Examples
    --------
    >>> from sklearn_smart.metrics import soft_calibration_error
    >>> y_true, y_prob = [0, 0, 1, 1], [0.9, 0.9, 0.9, 0.9]
    >>> round(soft_calibration_error(y_true, y_prob), 3)
    0.4
    """
    check_binning(n_bins, strategy)
    check_option(kind, "kind", KINDS)
    for value, name, lowest in (
        (bandwidth, "bandwidth", "(0"),
        (smoothing, "smoothing", "[0"),
    ):
        good = isinstance(value, numbers.Real) and 0 <= value < np.inf
        if not good or (lowest == "(0" and value == 0):
            raise ValueError(
                f"The '{name}' parameter must be a float in the range {lowest}, inf). "
                f"Got {value!r} instead."
            )
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return over_events(
        prediction,
        kind,
        pos_label,
        lambda events: soft_error(events, n_bins, bandwidth, smoothing, strategy),
    )


def soft_error(events, n_bins=15, bandwidth=0.05, smoothing=0.0, strategy="uniform"):
    """The error of one event."""
    prob = events.prob.astype(np.float64, copy=False)
    centres = (
        uniform_centres(n_bins)
        if strategy == "uniform"
        else quantile_centres(prob, n_bins, events.sample_weight)
    )
    signed, mass = np.zeros(n_bins), np.zeros(n_bins)
    step = max(1, _BLOCK_SIZE // n_bins)
    for start in range(0, len(prob), step):
        rows = slice(start, start + step)
        member = soft_membership(prob[rows], centres, bandwidth)
        weight = np.ones(len(member))
        if events.sample_weight is not None:
            weight = events.sample_weight[rows]
        signed += (weight * (prob[rows] - events.outcome[rows])) @ member
        mass += weight @ member
    return float(np.hypot(signed, smoothing * mass).sum() / mass.sum())
