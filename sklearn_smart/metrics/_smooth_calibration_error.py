"""Smooth calibration error: the kernel's bandwidth is the error itself."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from ._binned import KINDS, over_events
from ._inputs import check_option, check_prediction
from ._smoothing import MirroredSum, gaussian, integral

# Cells of the grid; the fine one is for errors below a few cells of the other.
_COARSE, _FINE = 4096, 65_536
# Narrower kernels, in cells, are not told from points of the grid.
_NARROWEST = 2


def smooth_calibration_error(
    y_true,
    y_prob,
    *,
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Smooth expected calibration error (smooth ECE); 0 is best, at most 1.

    With the residuals ``r_i = outcome_i - v_i`` of events of probability v_i and a
    Gaussian kernel K of standard deviation s, mirrored at 0 and 1,

    ``smECE_s = integral over [0, 1] of |(1/n) sum_i r_i K_s(t, v_i)| dt``

    falls in s; the metric is the s for which ``smECE_s = s``. It has no bins and no
    parameter, and is consistent: small changes of the probabilities change it little.
    Time and memory are linear in the samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

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
        Lower is better. The fixed point is resolved down to 1 / 32768: below that 0
        is returned.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    J. Blasiok, P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel
    Smoothing", ICLR 2024, arXiv:2309.12236.

    Examples
    --------
    >>> from sklearn_smart.metrics import smooth_calibration_error
    >>> y_true, y_prob = [0, 0, 1, 1], [0.9, 0.9, 0.9, 0.9]
    >>> round(smooth_calibration_error(y_true, y_prob), 3)
    0.4
    """
    check_option(kind, "kind", KINDS)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return over_events(prediction, kind, pos_label, smooth_error)


def smooth_error(events):
    """The fixed point for one event."""
    residual = events.prob - events.outcome.astype(np.float64)
    if events.sample_weight is None:
        residual /= len(residual)
    else:
        residual *= events.sample_weight / events.sample_weight.sum()
    for n_cells in (_COARSE, _FINE):
        smoothed = MirroredSum(events.prob, [residual], n_cells)
        error = _fixed_point(smoothed, _NARROWEST / n_cells)
        if error > 0:
            return error
    return 0.0


def _fixed_point(smoothed, narrowest):
    """The s with ``smECE_s = s``, or 0 where it is below ``narrowest``."""

    def excess(sigma):
        return float(integral(np.abs(smoothed.at_nodes(gaussian(sigma))))[0]) - sigma

    if excess(narrowest) <= 0:
        return 0.0
    if excess(1.0) >= 0:  # every residual is 1 of the same sign
        return 1.0
    return float(brentq(excess, narrowest, 1.0, xtol=1e-12))
